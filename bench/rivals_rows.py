"""The rows of the bench beside rivals: what is compared with what, at which task, and how long at most."""

from collections.abc import Callable
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from statistics import median, quantiles

from msgspec.structs import replace

from bench import pace_rows, processes
from bench.drain import drain
from bench.figures import Figure, Measured, Round, Speed, figure_of
from bench.goals import PACES
from bench.measure import Contest, compared, in_blocks
from bench.peers import PeerUnavailable
from bench.peers.catalogue import (
    ASYNC,
    ASYNC_SQLITE,
    LIMITED,
    POSTGRES,
    PROCESS,
    RIVALS,
    UNLIMITED,
    WARM,
    Peer,
)
from bench.peers.product import Product
from bench.place import Place
from bench.rows import Row
from bench.stamps import Stamps

BY_KEY = {peer.key: peer for peer in RIVALS}
ON_POSTGRES = [peer for peer in RIVALS if peer.store == POSTGRES]
DRAINS: dict[str, tuple[Peer, tuple[str, ...]]] = {
    "async": (ASYNC, tuple(peer.key for peer in ON_POSTGRES)),
    "sqlite": (ASYNC_SQLITE, ("huey-sqlite",)),
    "warm": (WARM, ("celery", "dramatiq", "huey")),
    "process": (PROCESS, ("rq",)),
}
"""What is drained beside what, by the name of the group."""

CPU_BESIDE = "pgboss"
"""Beside whom the CPU of a job is told in itself, too."""

BEST_CALLERS = ("pgqueuer", "pgboss", "graphile")
"""Those that enqueue fast enough to be the best; the others are shown."""

CALLERS = sorted(ON_POSTGRES, key=lambda peer: peer.key not in BEST_CALLERS)
"""The best go first: they must not be those for whom there is no time left."""

NO_BULK = ("dbos",)
LEAST_JOBS, MOST_JOBS = 40, 100_000
MEMORY_SECONDS = 600.0
_TENTHS = 10

_files = count(1)


def drain_beside(group: str, ours: Peer, theirs: Peer, at: Place) -> Measured:
    """Two products' drains, and their CPU."""
    with ExitStack() as stack:
        # The rival first: where it is not set up, nothing is measured in vain.
        right, left = (_drains(stack, peer, at) for peer in (theirs, ours))
        contest = Contest(left, right, _what("drain", group, ours), _what("drain", group, theirs))
        beside = f"{group}-beside-{theirs.key}"
        found = compared(
            f"drain-{beside}", contest, pairs=at.size.pairs, watch=at.watch, deadline=at.deadline
        )
    cpu = _cpu_ratio(f"cpu-{beside}", *found.speeds)
    found += Measured([cpu] if cpu else [])
    if theirs.key == CPU_BESIDE:
        samples = [1e6 * _cpu(each) / each.jobs for each in found.speeds[0].rounds]
        found += Measured([figure_of("cpu-async", samples, unit="µs", of="rounds")])
    return found


def limit(at: Place) -> Measured:
    """A definition with a concurrency limit beside one without, with as many slots as the limit has."""
    with ExitStack() as stack:
        left, right = (_drains(stack, peer, at) for peer in (LIMITED, UNLIMITED))
        names = ("drain limit: Tenure, limited", "drain limit: Tenure, not limited")
        contest = Contest(left, right, *names)
        return compared("limit", contest, pairs=at.size.pairs, watch=at.watch, deadline=at.deadline)


def enqueue(command: str, at: Place) -> Measured:
    """One caller beside that of every rival on PostgreSQL; the goal is held against the best of them."""
    found, ratios = Measured(), []
    for theirs in CALLERS:
        if command == "bulk" and theirs.key in NO_BULK:
            continue
        try:
            beside = _enqueue_beside(command, theirs, at)
        except PeerUnavailable as error:
            found += Measured(remarks=[f"enqueue {command} beside {theirs.title}: {error}"])
        else:
            ratios.append(beside.figures[0])
            found += beside
    best = [replace(min(ratios, key=lambda each: each.value), name=f"enqueue-{command}")] if ratios else []
    return Measured(best) + found


def latency(at: Place) -> Measured:
    """One job at a time for a worker that is idle: ours, then each rival's on PostgreSQL."""
    found = _latency(ASYNC, "async", at.size.latency_blocks, at)
    for peer in ON_POSTGRES:
        try:
            found += _latency(peer, peer.key, 1, at)
        except PeerUnavailable as error:
            found += Measured(remarks=[f"the start latency of {peer.title}: {error}"])
    return found


def memory(at: Place) -> Measured:
    """What a worker of the lane `async` takes while it runs many jobs, after every tenth of them."""
    jobs, stamps = at.size.memory_jobs, _stamps(at)
    sizes = []
    with closing(Product(ASYNC, at)) as product:
        product.fill(jobs, stamps.path)
        with product.at_work() as worker:
            for tenth in range(1, _TENTHS + 1):
                stamps.reach(jobs * tenth // _TENTHS, seconds=MEMORY_SECONDS, pause=0.02)
                sizes.append((processes.memory(worker.pid) or 0) / 2**20)
    early, late = sizes[0], median(sizes[-3:])
    return Measured(
        [
            figure_of("memory-growth", [late / early]),
            figure_of("memory", sizes, unit="MiB", of="looks"),
        ]
    )


def _drain_rows() -> dict[str, Row]:
    return {
        f"{group}-{key}": Row(partial(_drain_row, group, ours, BY_KEY[key]), 95)
        for group, (ours, keys) in DRAINS.items()
        for key in keys
    }


def _drain_row(group: str, ours: Peer, theirs: Peer, at: Place) -> Measured:
    """A rival that cannot be had is told of, and is no failure."""
    try:
        return drain_beside(group, ours, theirs, at)
    except PeerUnavailable as error:
        return Measured(remarks=[f"{theirs.title}: {error}"])


ROWS: dict[str, Row] = {
    **_drain_rows(),
    "singly": Row(partial(enqueue, "singly"), 165),
    "bulk": Row(partial(enqueue, "bulk"), 240),
    "latency": Row(latency, 100),
    "limit": Row(limit, 95),
    **{f"pace-{pace}": Row(partial(pace_rows.pace_row, pace), 300) for pace in PACES},
}
"""What a run measures unless told otherwise."""

LONG_ROWS: dict[str, Row] = {"memory": Row(memory, MEMORY_SECONDS)}
"""What is measured when it is asked for."""


def _drains(stack: ExitStack, peer: Peer, at: Place) -> "partial[Round]":
    """One drain of a product, of as many jobs as take about as long as a round is to take."""
    product = stack.enter_context(closing(Product(peer, at)))
    jobs = _sized(partial(_drain, product, at), peer.pace, at.size.drain_seconds, at)
    return partial(_drain, product, at, jobs)


def _drain(product: Product, at: Place, jobs: int) -> Round:
    try:
        return drain(product, _stamps(at), jobs=jobs)
    except RuntimeError as error:
        raise product.failure(str(error)) from error


def _enqueue_beside(command: str, theirs: Peer, at: Place) -> Measured:
    with ExitStack() as stack:
        left, right = (_calls(stack, command, peer, at) for peer in (ASYNC, theirs))
        contest = Contest(left, right, *(_what("enqueue", command, peer) for peer in (ASYNC, theirs)))
        pairs = at.size.pairs if theirs.key in BEST_CALLERS else at.size.other_pairs
        figure = f"enqueue-{command}-beside-{theirs.key}"
        return compared(figure, contest, pairs=pairs, watch=at.watch, deadline=at.deadline)


def _calls(stack: ExitStack, command: str, peer: Peer, at: Place) -> "partial[Round]":
    product = stack.enter_context(closing(Product(peer, at)))
    jobs = _sized(partial(product.enqueued, command), at.size.peer_jobs // 2, at.size.call_seconds, at)
    return partial(product.enqueued, command, jobs)


def _sized(work: Callable[[int], Round], pace: int, seconds: float, at: Place) -> int:
    """How many jobs a round has: by a trial, which also warms everything up."""
    if not seconds:
        return at.size.peer_jobs
    trial = work(min(max(pace // 2, LEAST_JOBS), at.size.peer_jobs))
    wanted = int(trial.jobs / trial.seconds * seconds)
    return min(max(wanted, LEAST_JOBS), MOST_JOBS)


def _latency(peer: Peer, name: str, blocks: int, at: Place) -> Measured:
    with closing(Product(peer, at)) as product:
        product.home.renew()
        with product.at_work():
            done = in_blocks(
                partial(product.starts, at.size.peer_starts),
                blocks=blocks,
                watch=at.watch,
                deadline=at.deadline,
            )
    each = [start for block in done for start in block.found]
    disturbed = sum(len(block.found) for block in done if block.disturbed)
    probes = [block.probes for block in done]
    p99 = quantiles(each, n=100, method="inclusive")[98]
    return Measured(
        [
            figure_of(f"start-latency-{name}", each, probes, disturbed, unit="ms", of="jobs"),
            figure_of(f"start-latency-{name}-p99", [p99], unit="ms"),
        ]
    )


def _cpu_ratio(name: str, ours: Speed, theirs: Speed) -> Figure | None:
    """CPU a job of workers and server, ours / theirs, pair by pair."""
    samples = [
        (_cpu(left) / left.jobs) / (_cpu(right) / right.jobs)
        for left, right in zip(ours.rounds, theirs.rounds, strict=True)
        if _cpu(left) and _cpu(right)
    ]
    return figure_of(name, samples) if samples else None


def _cpu(each: Round) -> float:
    return (each.client_cpu or 0.0) + (each.server_cpu or 0.0)


def _what(work: str, group: str, peer: Peer) -> str:
    return f"{work} {group}: {peer.title}"


def _stamps(at: Place) -> Stamps:
    return Stamps(at.folder / f"rival-stamps-{next(_files)}")
