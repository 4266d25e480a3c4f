"""An app that imports nothing that logs: what a process loads, and what happens if a handler then logs."""

import sys
from typing import Any

from tenure.execution.handler.handler import Handler


def logs_after_all(params: Any, ctx: Any) -> bool:
    was_loaded = "logging" in sys.modules
    import logging

    logging.getLogger("x.y").info("told")
    logging.getLogger("x.y").debug("not told")
    logging.basicConfig(level="DEBUG")  # as ever: nothing has configured it before
    logging.getLogger("x.y").debug("told too")
    return was_loaded


def loaded(params: Any, ctx: Any) -> list[str]:
    return [
        name for name in sys.modules if name.endswith(("process_life", "attempt_life")) or name == "asyncio"
    ]


class App:
    def handler(self, key: str, version: int) -> Handler:
        return Handler(globals()[key], lambda _text: None)

    def manifest(self) -> bytes:
        return b""


app = App()
