"""How much of what repeats is done: a part of it in every run, and all of it in `make long`."""

import os

IS_WHOLE = bool(os.environ.get("TENURE_TEST_WHOLE"))
STORES = ("sqlite", "postgres")


def dealt(turn: int) -> tuple[str, ...]:
    """The stores for a test of something that does not hang on the store: one of them in turn, or all."""
    return STORES if IS_WHOLE else (STORES[turn % len(STORES)],)
