"""`python -m chaos`: break a running Tenure by seeds, as long as told, and say what came of it."""

import argparse
import asyncio
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import nullcontext
from pathlib import Path

from chaos import counts, failpoints, report
from chaos.campaign import Result, Setup, missed, run
from chaos.faults import FAULTS
from chaos.ground import Kind
from chaos.mixes import foreigners, is_hostile, mix
from chaos.recovery import percentile
from chaos.scene import clear
from tests.storage.faults.own_server import OwnServer

STOPPED = 130
"""The exit code of who was told to stop."""


def main() -> int:
    """Run seeds one after the other; 1 when a promise was broken, 2 when they missed what they were for."""
    given = _arguments()
    # Whoever stops us wants everything to be put away, as after Ctrl-C.
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
    if given.write_docs:
        report.write_page(report.load(*given.write_docs))
        return 0
    place = given.keep or Path(tempfile.mkdtemp(prefix="chaos-"))
    stores: tuple[Kind, ...] = ("sqlite", "postgres") if given.store == "both" else (given.store,)
    results = report.of_this_commit(given.results) if given.counts and given.results else []
    setups = _counting(given, stores, results) if given.counts else _setups(given, stores)
    try:
        with OwnServer() if "postgres" in stores else nullcontext() as server:
            for setup in setups:
                results.append(_played(given, setup, place / f"{setup.store}-{setup.seed}", server))
    except KeyboardInterrupt:
        print("stopped; the last run counts for nothing")
        return STOPPED
    finally:
        if not given.keep and not any(place.iterdir()):
            place.rmdir()
    verdicts = {_verdict(results), _reached(given, results) if given.counts else 0}
    return min(verdicts - {0}, default=0)


def _played(given: argparse.Namespace, setup: Setup, folder: Path, server: OwnServer | None) -> Result:
    """One run, told and kept as was asked for."""
    try:
        result = asyncio.run(run(setup, folder, server))
    except KeyboardInterrupt:
        clear(folder)
        raise
    is_good = _told(result, folder)
    if given.results:
        report.append(result, given.results)
    if is_good and not given.keep:
        clear(folder)
    return result


def _setups(given: argparse.Namespace, stores: tuple[Kind, ...]) -> Iterator[Setup]:
    """The runs, one seed after the other, until the time is over."""
    seed = _first_seed(given)
    ends = time.monotonic() + 60 * given.minutes
    while True:
        for store in stores:
            faults = given.faults or mix(seed, store)
            yield Setup(
                seed=seed,
                store=store,
                faults=faults,
                seconds=given.seconds,
                calls=given.calls,
                hostile=given.hostile or (not given.faults and is_hostile(seed)),
                workers=given.workers,
                foreign=foreigners(seed) if given.foreign is None else given.foreign,
                lease=given.lease,
                rate=given.rate,
                aims=given.aims,
                slack=given.slack,
                servers=given.servers,
                messages=given.messages or "broker" in faults,
            )
        seed += 1
        if time.monotonic() >= ends:
            return


def _counting(given: argparse.Namespace, stores: tuple[Kind, ...], results: list[Result]) -> Iterator[Setup]:
    """The runs that it takes until every fault has struck as often as it must."""
    seeds = [result.setup.seed for result in results]
    first = max(seeds) + 1 if seeds else _first_seed(given)
    return counts.setups(counts.goals(given.counts), results, stores, seed=first, slack=given.slack)


def _first_seed(given: argparse.Namespace) -> int:
    seed: int = secrets.randbelow(10**6) if given.seed is None else given.seed
    return seed


def _reached(given: argparse.Namespace, results: list[Result]) -> int:
    """Print how often each fault has struck, and what is wanting; 2 when anything is."""
    wanted, reached = counts.goals(given.counts), counts.tally(results)
    short = counts.missing(wanted, results)
    for goal in wanted:
        mark = f", {short[goal.name]} too few" if goal.name in short else ""
        print(f"  {goal.name}: {reached[goal.name]} of {goal.times}{mark}")
    late = counts.late(results)
    for line in late:
        print(f"  {line}")
    return 2 if short or late else 0


def _told(result: Result, folder: Path) -> bool:
    """Print what came of a run; whether it was good."""
    setup = result.setup
    strikes = Counter(strike.fault for strike in result.strikes)
    print(f"{setup.store} {setup.seed}: {result.jobs} jobs in {result.took:.0f} s; {_counts(strikes)}")
    print(f"    {_counts(result.counters)}")
    for fault, gaps in result.recoveries.items():
        for what, times in (
            ("taken back", [gap.taken_back for gap in gaps]),
            ("claimed again", [gap.claimed for gap in gaps]),
        ):
            if (median := percentile(times, 0.5)) is not None:
                print(f"    {fault}: {what} after {median:.2f} s, at p99 {percentile(times, 0.99):.2f} s")
    for violation in result.violations:
        print(f"  {violation.invariant} {violation.job or ''}: {violation.message}")
    if not result.is_good:
        print(f"  {'' if result.quiet else 'it did not come to rest; '}evidence: {folder}")
        print(f"  again: {setup.command}")
    sys.stdout.flush()
    return result.is_good


def _counts(counted: Counter[str] | dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counted.items())


def _verdict(results: list[Result]) -> int:
    bad = sum(not result.is_good for result in results)
    void = missed(results)
    print(f"{len(results)} runs, {bad} of them bad")
    if void:
        print(f"void: none of these runs hit {', '.join(sorted(void))}")
    return 1 if bad else 2 if void else 0


def _some_of(known: Collection[str]) -> Callable[[str], tuple[str, ...]]:
    """Reads names with commas between them."""

    def read(text: str) -> tuple[str, ...]:
        names = tuple(text.split(","))
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
        return names

    return read


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m chaos", description=__doc__)
    parser.add_argument(
        "--seed", type=int, help="the first run's seed, else a random one; the next ones follow"
    )
    parser.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    parser.add_argument(
        "--faults",
        type=_some_of(FAULTS),
        default=(),
        help="names with commas between them; else a mix that the seed names",
    )
    parser.add_argument(
        "--counts",
        type=float,
        nargs="?",
        const=1.0,
        metavar="PART",
        help="go on until every fault has struck as often as it must, or that part of it; what the file of"
        " --results has of this commit counts",
    )
    parser.add_argument("--minutes", type=float, default=0.0, help="go on with the next seeds for so long")
    parser.add_argument("--seconds", type=float, default=10.0, help="how long one run's faults strike")
    parser.add_argument("--calls", type=int, default=120, help="how many calls one run's client makes")
    parser.add_argument("--workers", type=int, default=3, help="how many workers there are")
    parser.add_argument(
        "--foreign", type=int, help="how many workers in JavaScript there are beside; else as the seed says"
    )
    parser.add_argument(
        "--servers", type=int, default=2, help="through how many servers half of the calls go; 0 for none"
    )
    parser.add_argument("--lease", type=float, default=2.0, help="how many seconds their leases last")
    parser.add_argument("--rate", type=float, default=1.0, help="how many times as often faults strike")
    parser.add_argument(
        "--aims",
        type=_some_of(failpoints.PLACES),
        default=(),
        help="failpoints to kill at, with commas between them; else any",
    )
    parser.add_argument(
        "--messages", action="store_true", help="let messages of a broker lead workers to jobs, and no sweeps"
    )
    parser.add_argument("--hostile", action="store_true", help="let jobs attack whoever runs them")
    parser.add_argument(
        "--slack", type=float, default=1.0, help="how much longer than promised things may take"
    )
    parser.add_argument("--keep", type=Path, help="keep the evidence of every run in this folder")
    parser.add_argument("--results", type=Path, help="add what came of each run to this file")
    parser.add_argument(
        "--write-docs",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="write such files' tables into the docs",
    )
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
