"""The rows of the worker's bench: what is measured where, and for how long at most."""

import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import count
from statistics import quantiles

from bench import first_call
from bench.drain import Queue, drain
from bench.figures import Figure, Measured, Round, Speed, figure_of
from bench.jobs import STAMP, program
from bench.measure import Contest, compared, in_blocks
from bench.place import Place
from bench.rows import Row
from bench.sites import PostgresSite, Site, SqliteSite
from bench.stamps import Stamps
from bench.tenure_worker import TenureQueue, idle, starts
from tenure.core.model.spec import Spec
from tenure.core.values.documents import EMPTY
from tenure.execution.handler.tracing import enter
from tenure.surfaces.library.trace_context import sending
from tests.telemetry.collectors import Collector, collector

FEW, MANY = 2, 4
"""Slots."""

FEW_KEYS = 10
CALLS = 20_000

_files = count(1)


def start_latency(at: Place) -> Measured:
    """One job at a time for a worker that is idle."""
    found = Measured()
    for site in _sites(at, "latency"):
        queue, stamps = TenureQueue(site, at.folder), _stamps(at)
        block = partial(starts, site, queue, stamps, jobs=at.size.latency_jobs)
        with queue.at_work():
            blocks = in_blocks(block, blocks=at.size.latency_blocks, watch=at.watch, deadline=at.deadline)
        each = [start for block in blocks for start in block.found]
        name = "start-latency" + _suffix(site)
        called = [start.called for start in each]
        made = partial(
            figure_of,
            probes=[block.probes for block in blocks],
            disturbed=sum(len(block.found) for block in blocks if block.disturbed),
            unit="ms",
            of="jobs",
        )
        found += Measured(
            [
                made(name, called),
                figure_of(f"{name}-p99", [quantiles(called, n=100, method="inclusive")[98]], unit="ms"),
                made(f"{name}-after-return", [start.returned for start in each]),
            ]
        )
    return found


def drain_row(at: Place) -> Measured:
    """A worker with four slots beside one with two."""
    found = Measured()
    for site in _sites(at, "drain"):
        contest = Contest(
            _draining(at, TenureQueue(site, at.folder, slots=MANY)),
            _draining(at, TenureQueue(site, at.folder, slots=FEW)),
            f"{site.name}: drain, {MANY} slots",
            f"{site.name}: drain, {FEW} slots",
        )
        name = "drain-slots" + _suffix(site)
        measured = compared(name, contest, pairs=at.size.side_pairs, watch=at.watch, deadline=at.deadline)
        cpu = [
            _cpu(f"drain-cpu-{slots}{_suffix(site)}", speed)
            for slots, speed in zip((MANY, FEW), measured.speeds, strict=True)
        ]
        found += measured + Measured(cpu)
    return found


def keys_row(at: Place) -> Measured:
    """A worker whose jobs have very many new concurrency keys, beside one whose jobs have a few."""
    found = Measured()
    for site in _sites(at, "keys"):
        many, few = (
            TenureQueue(site, at.folder, lane="async", keys=keys) for keys in (at.size.keys, FEW_KEYS)
        )
        contest = Contest(
            _draining(at, many, at.size.keyed_jobs),
            _draining(at, few, at.size.keyed_jobs),
            f"{site.name}: drain, lane async, {at.size.keys:,} new keys",
            f"{site.name}: drain, lane async, {FEW_KEYS} new keys",
        )
        name = "drain-keys" + _suffix(site)
        found += compared(name, contest, pairs=at.size.pairs, watch=at.watch, deadline=at.deadline)
    return found


def idle_row(at: Place) -> Measured:
    """A worker that has nothing to do."""
    found = Measured()
    for site in _sites(at, "idle"):
        database = site.database if isinstance(site, PostgresSite) else None
        seen = idle(TenureQueue(site, at.folder), database, seconds=at.size.idle_seconds)
        sizes = [size / 2**20 for size in seen.bytes]
        figures = [
            figure_of("idle-memory" + _suffix(site), sizes, unit="MiB", of="looks"),
            figure_of("idle-cpu" + _suffix(site), [1e3 * seen.cpu], unit="ms a second"),
        ]
        if seen.queries is not None:
            figures.append(figure_of("idle-queries", [seen.queries], unit="a second"))
        found += Measured(figures)
    return found


def telling_row(at: Place) -> Measured:
    """A worker that offers metrics and exports a span for each attempt, beside one that does neither."""
    found = Measured()
    with collector() as told:
        for lane, jobs in (("process", at.size.drain_jobs), ("async", at.size.telling_jobs)):
            name = "telling" if lane == "process" else f"telling-{lane}"
            with closing(PostgresSite(at.postgres.database(name.replace("-", "_")))) as site:
                loud = TenureQueue(site, at.folder, slots=MANY, lane=lane, spans_to=told.url)
                quiet = TenureQueue(site, at.folder, slots=MANY, lane=lane)
                contest = Contest(
                    partial(_one_told_drain, at, loud, jobs, told),
                    _draining(at, quiet, jobs),
                    f"PostgreSQL: drain, lane {lane}, all told",
                    f"PostgreSQL: drain, lane {lane}, nothing told",
                )
                pairs = at.size.pairs if lane == "process" else at.size.side_pairs
                found += compared(name, contest, pairs=pairs, watch=at.watch, deadline=at.deadline)
    return found


def untraced_row(_at: Place) -> Measured:
    """What a job pays for tracing where tracing is off: in the process that enqueues it, and in its child."""
    [job] = [Spec(key=STAMP).new_job(EMPTY)]
    each = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(CALLS):
            with sending([job]):
                pass
            if job.traceparent is not None:
                enter(job.traceparent)
        each.append((time.perf_counter() - began) / CALLS * 1e6)
    return Measured([figure_of("untraced", each, unit="µs", of="rounds")])


def first_call_row(at: Place) -> Measured:
    """What a process pays that enqueues for the first time."""
    found = Measured()
    for site in _sites(at, "first_call"):
        with program(site.address) as app:
            app.enqueue_many_sync([app.new_job(STAMP, {"stamps": "nowhere"})])  # so that the schema is there
        blocks = in_blocks(
            partial(first_call.milliseconds, site.address),
            blocks=at.size.first_calls,
            watch=at.watch,
            deadline=at.deadline,
        )
        found += Measured(
            [
                figure_of(
                    "first-call" + _suffix(site),
                    [block.found for block in blocks],
                    probes=[block.probes for block in blocks],
                    disturbed=sum(block.disturbed for block in blocks),
                    unit="ms",
                    of="processes",
                )
            ]
        )
    return found


ROWS: dict[str, Row] = {
    "start-latency": Row(start_latency, 150),
    "drain": Row(drain_row, 240),
    "keys": Row(keys_row, 240),
    "idle": Row(idle_row, 120),
    "telling": Row(telling_row, 240),
    "untraced": Row(untraced_row, 20),
    "first-call": Row(first_call_row, 60),
}


def _sites(at: Place, name: str) -> Iterator[Site]:
    """A PostgreSQL database, then an SQLite file, each closed when it is done with."""
    with closing(PostgresSite(at.postgres.database(f"worker_{name}"))) as postgres:
        yield postgres
    with closing(SqliteSite(at.sqlite("FULL"))) as file:
        yield file


def _suffix(site: Site) -> str:
    """PostgreSQL's figures are those that have goals."""
    return "" if site.name == PostgresSite.name else f"-{site.name.lower()}"


def _stamps(at: Place) -> Stamps:
    return Stamps(at.folder / f"stamps-{next(_files)}")


def _draining(at: Place, queue: Queue, jobs: int | None = None) -> "partial[Round]":
    return partial(_one_drain, at, queue, jobs or at.size.drain_jobs)


def _one_drain(at: Place, queue: Queue, jobs: int) -> Round:
    return drain(queue, _stamps(at), jobs=jobs)


def _one_told_drain(at: Place, queue: Queue, jobs: int, told: Collector) -> Round:
    """Every attempt's span must have arrived; the last of them do when the worker ends."""
    done = _one_drain(at, queue, jobs)
    if (arrived := told.forget()) != jobs:
        raise RuntimeError(f"of {jobs:,} attempts {arrived:,} spans have arrived")
    return done


def _cpu(name: str, speed: Speed) -> Figure:
    """CPU seconds for a thousand jobs, of workers and server together."""
    samples = [
        1e3 * (each.client_cpu + (each.server_cpu or 0.0)) / each.jobs
        for each in speed.rounds
        if each.client_cpu is not None
    ]
    return figure_of(name, samples, unit="s a thousand", of="rounds")
