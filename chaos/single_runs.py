"""Programs of runs that are after one thing alone: their flags, a run on each store, and what they print."""

import argparse
import asyncio
import secrets
import signal
import sys
import tempfile
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from chaos.checker import Violation
from chaos.ground import Kind
from chaos.scene import clear
from tests.storage.faults.own_server import OwnServer

MOST_TOLD = 50


class Judged(Protocol):
    """What came of a run."""

    @property
    def violations(self) -> Sequence[Violation]:
        """The promises that were broken."""


S = TypeVar("S")
R = TypeVar("R", bound=Judged)


class AimedProgram(NamedTuple, Generic[S, R]):
    """One program, `python -m chaos.NAME`."""

    name: str
    about: str
    flags: Callable[[argparse.ArgumentParser], None]
    """Adds its own flags, beside those that all have."""
    setup: Callable[[argparse.Namespace, Kind, int], S]
    """All that fixes a run: by the flags, for a store, with a seed."""
    run: Callable[[S, Path, OwnServer | None], Coroutine[Any, Any, R]]
    tell: Callable[[R], Iterable[str]]
    """What is printed of a run, beside the promises that were broken."""

    def main(self) -> int:
        """Run it on each store; 1 when a promise was broken."""
        given = self._arguments()
        signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
        seed = secrets.randbelow(10**6) if given.seed is None else given.seed
        stores: tuple[Kind, ...] = ("sqlite", "postgres") if given.store == "both" else (given.store,)
        place = given.keep or Path(tempfile.mkdtemp(prefix=f"chaos-{self.name}-"))
        is_broken = False
        with OwnServer() if "postgres" in stores else nullcontext() as server:
            for store in stores:
                folder = place / f"{store}-{seed}"
                result = asyncio.run(self.run(self.setup(given, store, seed), folder, server))
                self._print(result, folder)
                is_broken = is_broken or bool(result.violations)
                if not result.violations and not given.keep:
                    clear(folder)
        return int(is_broken)

    def _print(self, result: R, folder: Path) -> None:
        for line in self.tell(result):
            print(line)
        for violation in result.violations[:MOST_TOLD]:
            print(f"  {violation.invariant} {violation.job or ''}: {violation.message}")
        if result.violations:
            print(f"  evidence: {folder}")
        sys.stdout.flush()

    def _arguments(self) -> argparse.Namespace:
        parser = argparse.ArgumentParser(prog=f"python -m chaos.{self.name}", description=self.about)
        parser.add_argument("--seed", type=int, help="else a random one")
        parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
        self.flags(parser)
        parser.add_argument("--keep", type=Path, help="keep the evidence of every run in this folder")
        return parser.parse_args()


def counted(what: str, counts: dict[str, int]) -> str:
    """A line of counts by name."""
    return f"    {what}: {', '.join(f'{name} {count}' for name, count in sorted(counts.items()))}"
