"""`python -m chaos.webhooks`: tell of jobs while what sends and what receives is harmed, and judge it."""

import argparse
import sys
from collections.abc import Iterator

from chaos.ground import Kind
from chaos.single_runs import AimedProgram, counted
from chaos.webhooks.run import Result, Setup, run


def _flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", type=int, default=2000, help="how many jobs there are")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="for how long they come, and harm is done"
    )
    parser.add_argument("--processes", type=int, default=4, help="how many run jobs and send")


def _setup(given: argparse.Namespace, store: Kind, seed: int) -> Setup:
    return Setup(seed=seed, store=store, jobs=given.jobs, seconds=given.seconds, processes=given.processes)


def _tell(result: Result) -> Iterator[str]:
    setup = result.setup
    yield f"{setup.store} {setup.seed}: {setup.jobs} jobs, {result.took:.0f} s, {result.events} events"
    yield (
        f"    {result.owed} messages owed; {result.requests} requests, {result.taken} of them taken; "
        f"{result.pruned} jobs pruned meanwhile"
    )
    yield counted("harm", result.strikes)
    yield counted("acts", result.acts)
    late = "" if result.quiet else ", and nothing more came before all was told"
    yield f"    {len(result.violations)} violations{late}"


PROGRAM = AimedProgram("webhooks", __doc__ or "", _flags, _setup, run, _tell)

if __name__ == "__main__":
    sys.exit(PROGRAM.main())
