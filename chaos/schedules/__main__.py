"""`python -m chaos.schedules`: fire schedules by the second, harm what fires them, and judge what is left."""

import argparse
import sys
from collections.abc import Iterator

from chaos.ground import Kind
from chaos.schedules.run import Result, Setup, run
from chaos.single_runs import AimedProgram, counted


def _flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schedules", type=int, default=200, help="how many there are, most of one second")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="for how long they are harmed and changed"
    )
    parser.add_argument("--ticks", type=int, default=0, help="go on until they have made so many jobs")
    parser.add_argument("--processes", type=int, default=5, help="how many fire them")


def _setup(given: argparse.Namespace, store: Kind, seed: int) -> Setup:
    return Setup(
        seed=seed,
        store=store,
        schedules=given.schedules,
        seconds=given.seconds,
        ticks=given.ticks,
        processes=given.processes,
    )


def _tell(result: Result) -> Iterator[str]:
    setup = result.setup
    yield f"{setup.store} {setup.seed}: {setup.schedules} schedules, {result.took:.0f} s, {result.jobs} jobs"
    yield counted("ticks", result.outcomes)
    yield counted("harm", result.strikes)
    yield counted("calls", result.calls)
    yield f"    {result.by_rule} schedules held against their rules; {len(result.violations)} violations"


PROGRAM = AimedProgram("schedules", __doc__ or "", _flags, _setup, run, _tell)

if __name__ == "__main__":
    sys.exit(PROGRAM.main())
