"""`python -m chaos.webhooks`: tell of jobs while what sends and what receives is harmed, and judge it."""

import argparse
import asyncio
import secrets
import signal
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

from chaos.ground import Kind
from chaos.scene import clear
from chaos.webhooks.run import Result, Setup, run
from tests.storage.faults.own_server import OwnServer


def main() -> int:
    """Run it on each store; 1 when a promise was broken."""
    given = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    stores: tuple[Kind, ...] = ("sqlite", "postgres") if given.store == "both" else (given.store,)
    place = given.keep or Path(tempfile.mkdtemp(prefix="chaos-webhooks-"))
    results = []
    with OwnServer() if "postgres" in stores else nullcontext() as server:
        for store in stores:
            setup = Setup(
                seed=seed,
                store=store,
                jobs=given.jobs,
                seconds=given.seconds,
                processes=given.processes,
            )
            folder = place / f"{store}-{seed}"
            results.append(asyncio.run(run(setup, folder, server)))
            _tell(results[-1], folder)
            if not results[-1].violations and not given.keep:
                clear(folder)
    return int(any(result.violations for result in results))


def _tell(result: Result, folder: Path) -> None:
    setup = result.setup
    print(f"{setup.store} {setup.seed}: {setup.jobs} jobs, {result.took:.0f} s, {result.events} events")
    print(
        f"    {result.wanted} messages wanted; {result.requests} requests, {result.taken} of them taken; "
        f"{result.pruned} jobs pruned meanwhile"
    )
    for what, counts in (("harm", result.strikes), ("acts", result.acts)):
        print(f"    {what}: {', '.join(f'{name} {count}' for name, count in sorted(counts.items()))}")
    print(f"    {len(result.violations)} violations")
    for violation in result.violations[:50]:
        print(f"  {violation.invariant} {violation.job or ''}: {violation.message}")
    if result.violations:
        print(f"  evidence: {folder}")
    sys.stdout.flush()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m chaos.webhooks", description=__doc__)
    parser.add_argument("--seed", type=int, help="else a random one")
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--jobs", type=int, default=2000, help="how many jobs there are")
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="for how long they come, and harm is done"
    )
    parser.add_argument("--processes", type=int, default=4, help="how many run jobs and send")
    parser.add_argument("--keep", type=Path, help="keep the evidence of every run in this folder")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
