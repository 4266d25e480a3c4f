"""`python -m chaos`: break a running Tenure by seeds, as long as told, and say what came of it."""

import argparse
import asyncio
import secrets
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

from chaos.campaign import Result, Setup, missed, run
from chaos.faults import FAULTS
from chaos.ground import Kind
from chaos.recovery import percentile
from chaos.scene import clear
from tests.storage.faults.own_server import OwnServer


def main() -> int:
    """Run one seed, or seeds until the time is over; 1 when something was violated, 2 when a run was void."""
    given = _arguments()
    setups = _setups(given)
    place = Path(given.keep or tempfile.mkdtemp(prefix="chaos-"))
    results: list[Result] = []
    ends = time.monotonic() + 60 * given.minutes
    with OwnServer() if any(setup.store == "postgres" for setup in setups) else nullcontext() as server:
        while True:
            results += [_run(setup, place, server, keep=bool(given.keep)) for setup in setups]
            if time.monotonic() >= ends:
                break
            setups = _setups(given, reseeded=True)
    return _verdict(results)


def _run(setup: Setup, place: Path, server: OwnServer | None, *, keep: bool) -> Result:
    folder = place / f"{setup.store}-{setup.seed}"
    result = asyncio.run(run(setup, folder, server))
    strikes = ", ".join(f"{name} {count}" for name, count in _counts(result).items())
    counters = ", ".join(f"{name} {count}" for name, count in result.counters.items())
    print(
        f"{setup.store} {setup.seed}: {result.jobs} jobs, {result.took:.0f} s; {strikes}; {counters}",
        flush=True,
    )
    for fault, gaps in result.recoveries.items():
        for what in ("taken_back", "claimed"):
            times = [getattr(gap, what) for gap in gaps]
            if (median := percentile(times, 0.5)) is not None:
                worst = percentile(times, 0.99)
                print(
                    f"    {fault}: {what} after {median:.2f} s, at p99 {worst:.2f} s ({len(times)})",
                    flush=True,
                )
    if result.violations or not result.quiet:
        for violation in result.violations:
            print(f"  {violation.invariant} {violation.job or ''}: {violation.message}")
        print(
            f"  did not come to rest: {not result.quiet}; evidence: {folder}\n  again: {setup.command}",
            flush=True,
        )
    elif not keep:
        clear(folder)
    return result


def _verdict(results: list[Result]) -> int:
    violations = sum(len(result.violations) for result in results)
    void = missed(results)
    restless = sum(not result.quiet for result in results)
    print(f"{len(results)} runs, {violations} violations, {restless} did not come to rest")
    if void:
        print(f"void: none of these runs hit {', '.join(sorted(void))}")
    return 1 if violations or restless else 2 if void else 0


def _counts(result: Result) -> dict[str, int]:
    counts: dict[str, int] = {}
    for strike in result.strikes:
        counts[strike.fault] = counts.get(strike.fault, 0) + 1
    return counts


def _setups(given: argparse.Namespace, *, reseeded: bool = False) -> list[Setup]:
    seed = given.seed if given.seed is not None and not reseeded else secrets.randbelow(10**9)
    stores: tuple[Kind, ...] = ("sqlite", "postgres") if given.store == "both" else (given.store,)
    return [
        Setup(
            seed=seed,
            store=store,
            faults=tuple(name for name in given.faults.split(",") if store in FAULTS[name].stores),
            seconds=given.seconds,
            calls=given.calls,
            hostile=given.hostile,
        )
        for store in stores
    ]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument("--seed", type=int, help="the first run's seed; random ones follow")
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument("--faults", default=",".join(FAULTS), help="names with commas between them")
    parser.add_argument("--minutes", type=float, default=0.0, help="go on with new seeds for so long")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long one run's faults strike")
    parser.add_argument("--calls", type=int, default=120, help="how many calls one run's client makes")
    parser.add_argument("--hostile", action="store_true", help="let jobs attack whoever runs them")
    parser.add_argument("--keep", help="keep the evidence of every run in this folder")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
