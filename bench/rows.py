"""The rows of the storage bench: what is held against what, and for how long at most."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from bench import keys_rows, postgres_loop
from bench.figures import Measured, Round, Speed, figure_of
from bench.loop import Loops
from bench.measure import Contest, alone, compared
from bench.pgbench import pgbench_turns
from bench.place import Place
from bench.postgres import Database
from bench.sqlite_loop import MODES

BATCH = 100
OTHER_BATCHES = (1, 10, 500)


def postgres_loop_row(at: Place) -> Measured:
    """The worker's loop in Python beside pgbench."""
    database = at.postgres.database("loop")
    database.stock(2 * at.size.pairs * at.size.postgres_turns[BATCH] * BATCH)
    return _beside_pgbench(at, database, BATCH, at.size.pairs, "postgres-loop")


def postgres_batches(at: Place) -> Measured:
    """The same with other batches."""
    database, found = at.postgres.database("batches"), Measured()
    database.stock(
        sum(2 * at.size.side_pairs * at.size.postgres_turns[batch] * batch for batch in OTHER_BATCHES)
    )
    for batch in OTHER_BATCHES:
        found += _beside_pgbench(at, database, batch, at.size.side_pairs, f"postgres-loop-{batch}")
    return found


def uvloop_row(at: Place) -> Measured:
    """What another event loop would bring; the product runs on asyncio's own."""
    loops = uvloop_or_none()
    if loops is None:
        return Measured()
    database, turns = at.postgres.database("uvloop"), at.size.postgres_turns[BATCH]
    database.stock(2 * at.size.side_pairs * turns * BATCH)
    run = partial(postgres_loop.turns, database, batch=BATCH, turns=turns)
    contest = Contest(
        partial(run, loops=loops), run, "PostgreSQL: loop on uvloop", "PostgreSQL: loop on asyncio"
    )
    return _compared(at, contest, at.size.side_pairs, "uvloop")


def backlog(at: Place) -> Measured:
    """The loop with few jobs in line beside the loop with many, the number kept as it is."""
    small, *others = at.size.backlogs
    found = Measured()
    for jobs in others:
        is_million = jobs == at.size.backlogs[2]
        pairs = at.size.pairs if is_million else at.size.side_pairs
        found += _compared(
            at,
            Contest(
                _level(at, jobs),
                _level(at, small),
                f"PostgreSQL: backlog of {jobs:,}",
                f"PostgreSQL: backlog of {small:,}",
            ),
            pairs,
            "backlog" if is_million else f"backlog-{jobs}",
        )
    return found


def held_snapshot(at: Place) -> Measured:
    """The loop under a snapshot that has been held for a while of full load beside the loop without.

    Another database stands for the state before: a snapshot holds back the cleaning of its own database only,
    and both are measured within seconds of each other.
    """
    held, before = at.postgres.database("held"), at.postgres.database("before")
    for database in (held, before):
        database.stock(at.size.held_backlog)
    run = partial(postgres_loop.level_turns, batch=BATCH, turns=at.size.level_turns)
    with postgres_loop.held_snapshot(held):
        load = postgres_loop.level_turns(held, batch=BATCH, turns=10**9, within=at.size.held_seconds)
        names = (
            f"PostgreSQL: after {at.size.held_seconds:g} s under a snapshot",
            "PostgreSQL: without a snapshot",
        )
        found = _compared(
            at, Contest(partial(run, held), partial(run, before), *names), at.size.pairs, "held-snapshot"
        )
    return found + Measured([], [Speed(f"PostgreSQL: those {at.size.held_seconds:g} s themselves", [load])])


def footprint(at: Place) -> Measured:
    """What a whole life leaves behind. Bytes, not time: one run tells."""
    cost = postgres_loop.footprint(
        at.postgres.database("footprint"), jobs=at.size.footprint_jobs, batch=BATCH
    )
    parts = {
        "wal": cost.enqueue_wal + cost.turn_wal,
        "wal-enqueue": cost.enqueue_wal,
        "wal-turn": cost.turn_wal,
        "disk": cost.disk,
    }
    return Measured([figure_of(name, [value], unit="B") for name, value in parts.items()])


def single_enqueues(at: Place) -> Measured:
    """Callers whose jobs share statements beside callers with a commit each."""
    database, callers = at.postgres.database("enqueues"), at.size.callers
    run = partial(postgres_loop.single_enqueues, database, callers=callers)
    contest = Contest(
        partial(run, calls=at.size.calls_together, together=True),
        partial(run, calls=at.size.calls_apart, together=False),
        f"PostgreSQL: {callers} callers, together",
        f"PostgreSQL: {callers} callers, a commit each",
    )
    return _compared(at, contest, at.size.pairs, "single-enqueues")


def postgres_others(at: Place) -> Measured:
    """Bulk enqueue and an idle round trip."""
    database, rounds = at.postgres.database("enqueues"), at.size.side_pairs
    bulk = partial(postgres_loop.bulk_enqueues, database, at.size.bulk_jobs)
    trips = partial(postgres_loop.round_trips, database, at.size.round_trips)
    return alone("PostgreSQL: bulk enqueue", bulk, rounds=rounds) + alone(
        "PostgreSQL: idle round trip", trips, rounds=rounds, of="calls"
    )


def sqlite_loop(at: Place) -> Measured:
    """The worker's loop beside the same SQL inside SQLite."""
    found = Measured()
    for mode in MODES:
        name = "sqlite-loop" if mode == "FULL" else f"sqlite-loop-{mode.lower()}"
        found += _inside_sqlite(at, mode, BATCH, at.size.pairs, name)
    return found


def sqlite_batches(at: Place) -> Measured:
    """The same with other batches."""
    found = Measured()
    for batch in OTHER_BATCHES:
        found += _inside_sqlite(at, "FULL", batch, at.size.side_pairs, f"sqlite-loop-{batch}")
    return found


def sqlite_others(at: Place) -> Measured:
    """Bulk enqueue, single enqueues and an idle round trip."""
    file, rounds, callers = at.sqlite("FULL"), at.size.side_pairs, at.size.callers
    bulk = partial(file.bulk_enqueues, at.size.bulk_jobs)
    singles = partial(file.single_enqueues, calls=at.size.calls_together, callers=callers)
    trips = partial(file.round_trips, at.size.round_trips)
    return (
        alone("SQLite: bulk enqueue", bulk, rounds=rounds)
        + alone(f"SQLite: {callers} callers, together", singles, rounds=rounds)
        + alone("SQLite: idle round trip", trips, rounds=rounds, of="calls")
    )


class Row(NamedTuple):
    """A part of the bench that can be run alone, and how many seconds it may take."""

    measure: Callable[[Place], Measured]
    seconds: float


ROWS: dict[str, Row] = {
    "postgres-loop": Row(postgres_loop_row, 120),
    "postgres-batches": Row(postgres_batches, 90),
    "uvloop": Row(uvloop_row, 45),
    "backlog": Row(backlog, 180),
    "held-snapshot": Row(held_snapshot, 150),
    "footprint": Row(footprint, 60),
    "single-enqueues": Row(single_enqueues, 90),
    "postgres-others": Row(postgres_others, 30),
    "keys-enqueue": Row(keys_rows.enqueue_row, 90),
    "keys-drain": Row(keys_rows.drain_row, 240),
    "sqlite-loop": Row(sqlite_loop, 90),
    "sqlite-batches": Row(sqlite_batches, 60),
    "sqlite-others": Row(sqlite_others, 30),
}


def uvloop_or_none() -> Loops:
    """What makes a loop of uvloop, where that is installed."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


def _beside_pgbench(at: Place, database: Database, batch: int, pairs: int, figure: str) -> Measured:
    turns = at.size.postgres_turns[batch]
    contest = Contest(
        partial(postgres_loop.turns, database, batch=batch, turns=turns),
        partial(pgbench_turns, database, batch=batch, turns=turns),
        f"PostgreSQL: loop in Python, {batch} a batch",
        f"PostgreSQL: pgbench, {batch} a batch",
    )
    return _compared(at, contest, pairs, figure)


def _inside_sqlite(at: Place, mode: str, batch: int, pairs: int, figure: str) -> Measured:
    file, turns = at.sqlite(mode), at.size.sqlite_turns[batch]
    file.stock(2 * pairs * turns * batch)
    contest = Contest(
        partial(file.turns, batch=batch, turns=turns),
        partial(file.turns_inside, batch=batch, turns=turns),
        f"SQLite at {mode}: loop in Python, {batch} a batch",
        f"SQLite at {mode}: the same SQL inside, {batch} a batch",
    )
    return _compared(at, contest, pairs, figure)


def _level(at: Place, jobs: int) -> Callable[[], Round]:
    database = at.postgres.database(f"backlog_{jobs}")
    database.stock(jobs)
    return partial(postgres_loop.level_turns, database, batch=BATCH, turns=at.size.level_turns)


def _compared(at: Place, contest: Contest, pairs: int, figure: str) -> Measured:
    return compared(figure, contest, pairs=pairs, watch=at.watch, deadline=at.deadline)
