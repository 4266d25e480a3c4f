"""How far things grow in the bench of growth: as far as the page says, or as far as options ask."""

import argparse

from msgspec import Struct


class Sizes(Struct, frozen=True, kw_only=True):
    """What is held against what: of each series, every size beside the first."""

    waiting: tuple[int, ...] = (10_000, 1_000_000, 5_000_000)
    """Jobs in line."""
    history: tuple[int, ...] = (20_000_000,)
    """Jobs that have ended, beside none."""
    workers: tuple[int, ...] = (1, 10, 50)
    keys: tuple[int, ...] = (10, 1_000, 10_000, 100_000)
    """Concurrency keys."""
    definitions: tuple[int, ...] = (1, 10_000)
    """Definitions, all of them served by one worker."""
    turns: int = 200
    """Turns of a round; each settles a hundred jobs and claims as many."""
    calls: int = 20
    """Calls of a round, each of which enqueues a thousand jobs."""
    pairs: int = 7


QUICK = Sizes(
    waiting=(200, 1_000),
    history=(500,),
    workers=(1, 3),
    keys=(10, 50),
    definitions=(1, 20),
    turns=2,
    calls=1,
    pairs=1,
)
SERIES = ("waiting", "history", "workers", "keys", "definitions")


def add_options(parser: argparse.ArgumentParser) -> None:
    """An option for each series and for how much is done."""
    for name in SERIES:
        text = f"sizes with commas between them instead of {_shown(getattr(Sizes(), name))}"
        parser.add_argument(f"--{name}", type=_numbers, metavar="N,...", help=text)
    for name in ("turns", "calls", "pairs"):
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"instead of {getattr(Sizes(), name)}")


def asked_for(asked: argparse.Namespace) -> Sizes:
    """Those of the options, and otherwise of a full or of a quick run."""
    usual = QUICK if asked.quick else Sizes()
    return Sizes(
        **{name: getattr(asked, name, None) or getattr(usual, name) for name in Sizes.__struct_fields__}
    )


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(","))


def _shown(sizes: tuple[int, ...]) -> str:
    return ",".join(map(str, sizes))
