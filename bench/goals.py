"""What is to be reached, alone and beside rivals: each figure, what it must be, and what we would like."""

from typing import NamedTuple


class Goal(NamedTuple):
    """A figure, what it means, and its two targets."""

    what: str
    must: float
    stretch: float
    unit: str = ""
    more_is_better: bool = True

    def is_met(self, value: float) -> bool:
        """Whether a value is as good as it must be."""
        return self._reaches(value, self.must)

    def is_stretched(self, value: float) -> bool:
        """Whether a value is as good as we would like."""
        return self._reaches(value, self.stretch)

    def is_missed_narrowly(self, value: float, spread: float) -> bool:
        """Whether a value misses its must by less than its own spread, so that it may be chance."""
        return not self.is_met(value) and abs(value - self.must) < spread

    def _reaches(self, value: float, target: float) -> bool:
        return value >= target if self.more_is_better else value <= target


GOALS: dict[str, Goal] = {
    "postgres-loop": Goal(
        "PostgreSQL: settle and claim, 100 a batch, Python / pgbench with the same SQL", 0.80, 0.95
    ),
    "backlog": Goal("PostgreSQL: a backlog of one million / of one thousand", 0.85, 0.95),
    "held-snapshot": Goal("PostgreSQL: after 60 s of load under a held snapshot / before", 0.85, 0.95),
    "wal": Goal(
        "PostgreSQL: WAL a job, params of 200 bytes, full history", 2500, 1800, "B", more_is_better=False
    ),
    "disk": Goal(
        "PostgreSQL: disk a job beyond its params, full history", 1400, 900, "B", more_is_better=False
    ),
    "single-enqueues": Goal("PostgreSQL: 128 callers enqueue one by one, together / one commit each", 4, 6),
    "keys-enqueue": Goal("PostgreSQL: enqueue, 10,000 new concurrency keys", 5_000, 7_000, "a second"),
    "keys-drain": Goal("PostgreSQL: loop with 10,000 concurrency keys / with ten", 0.8, 0.95),
    "keys-drain-sqlite": Goal("SQLite: loop with 10,000 concurrency keys / with ten", 0.8, 0.95),
    "sqlite-loop": Goal("SQLite: settle and claim at FULL, Python / the same SQL inside SQLite", 0.65, 0.80),
}
"""Of the storage layer, by the name of the figure, in the order in which they are printed."""

WORKER_GOALS: dict[str, Goal] = {
    "start-latency": Goal(
        "PostgreSQL: from the call of enqueue to the handler's first line, worker idle, p50",
        *(12, 4, "ms"),
        more_is_better=False,
    ),
    "drain-keys": Goal(
        "PostgreSQL: drain, lane `async`, with 10,000 new concurrency keys / with ten new ones", 0.8, 0.95
    ),
    "drain-keys-sqlite": Goal(
        "SQLite: drain, lane `async`, with 10,000 new concurrency keys / with ten new ones", 0.8, 0.95
    ),
    "idle-queries": Goal("PostgreSQL: queries of an idle worker", 2, 0.1, "a second", more_is_better=False),
    "idle-memory": Goal(
        "PostgreSQL: PSS of an idle worker's processes", 100, 70, "MiB", more_is_better=False
    ),
    "telling": Goal("PostgreSQL: drain with metrics, logs and a span for each attempt / without", 0.9, 0.97),
    "untraced": Goal("What a job pays for tracing where nobody traces", 10, 3, "µs", more_is_better=False),
    "first-call": Goal(
        "PostgreSQL: CPU of the first call of a process that enqueues", 80, 50, "ms", more_is_better=False
    ),
    "first-call-sqlite": Goal(
        "SQLite: CPU of the first call of a process that enqueues", 80, 50, "ms", more_is_better=False
    ),
}
"""Of the worker."""

HTTP_GOALS: dict[str, Goal] = {
    "http-postgres": Goal(
        "PostgreSQL: durable `POST /jobs`, 64 connections / the same without storage", 0.5, 0.7
    ),
    "http-sqlite": Goal(
        "SQLite at FULL: durable `POST /jobs`, 64 connections / the same without storage", 0.5, 0.7
    ),
    "http-by-hand": Goal(
        "PostgreSQL: `POST /v1/jobs`, 64 connections / a handler by hand, in Starlette with asyncpg", 0.8, 1.0
    ),
}
"""Of the HTTP server."""

PAGE_GOALS: dict[str, Goal] = {
    f"{figure}-{store}": Goal(f"{name}, a million jobs: {what}", *targets, "ms", more_is_better=False)
    for store, name in (("postgres", "PostgreSQL"), ("sqlite", "SQLite"))
    for figure, what, targets in (
        ("page", "the slowest page, median", (200, 100)),
        ("page-cold", "the slowest page, nothing in memory", (500, 250)),
        ("live", "from the commit to the page, the slowest of 45 changes", (1000, 500)),
    )
}
"""Of pages, and of what the API says of jobs."""

SCHEDULE_GOALS: dict[str, Goal] = {
    **{
        f"firing{suffix}": Goal(
            f"{store}: 10,000 schedules `* * * * *`, until the last one has fired",
            *(60, 20, "s"),
            more_is_better=False,
        )
        for store, suffix in (("PostgreSQL", ""), ("SQLite", "-sqlite"))
    },
    **{
        f"drain-beside-firing{suffix}": Goal(
            f"{store}: drain, lane `async`, while 10,000 schedules a minute fire / while none does", 0.9, 0.97
        )
        for store, suffix in (("PostgreSQL", ""), ("SQLite", "-sqlite"))
    },
    "idle-more-queries": Goal(
        "PostgreSQL: queries of an idle worker with 10,000 schedules that are not due, beyond those without",
        *(0.1, 0.05, "a second"),
        more_is_better=False,
    ),
    **{
        f"idle-more-cpu{suffix}": Goal(
            f"{store}: CPU of an idle worker with 10,000 schedules that are not due, beyond that without",
            *(2, 0.5, "ms a second"),
            more_is_better=False,
        )
        for store, suffix in (("PostgreSQL", ""), ("SQLite", "-sqlite"))
    },
}
"""Of schedules."""

PACES = {"1ms": 0.001, "2ms": 0.002, "15ms": 0.015, "100ms": 0.1, "1s": 1.0}
"""How many seconds on average lie between two jobs, by the name of the pace."""

RIVAL_GOALS: dict[str, Goal] = {
    "drain-async-beside-pgqueuer": Goal("PostgreSQL: drain, lane `async` / PgQueuer", 1, 2),
    "drain-async-beside-oban": Goal("PostgreSQL: drain, lane `async` / Oban (Python)", 4, 10),
    "drain-async-beside-chancy": Goal("PostgreSQL: drain, lane `async` / Chancy", 4, 10),
    "drain-async-beside-procrastinate": Goal("PostgreSQL: drain, lane `async` / Procrastinate", 20, 40),
    "drain-async-beside-dbos": Goal("PostgreSQL: drain, lane `async` / DBOS", 20, 40),
    "drain-async-beside-pgboss": Goal("PostgreSQL: drain, lane `async` / pg-boss", 1, 1.1),
    "drain-async-beside-graphile": Goal("PostgreSQL: drain, lane `async` / Graphile Worker", 0.4, 0.75),
    "drain-sqlite-beside-huey-sqlite": Goal(
        "SQLite: drain at FULL, lane `async` / Huey on SQLite at FULL", 2.5, 4
    ),
    "drain-warm-beside-celery": Goal("PostgreSQL: drain, lane `warm`, two children / Celery, prefork", 4, 6),
    "drain-warm-beside-dramatiq": Goal("PostgreSQL: drain, lane `warm`, two children / Dramatiq", 0.8, 1.2),
    "drain-warm-beside-huey": Goal("PostgreSQL: drain, lane `warm`, two children / Huey", 0.8, 1.2),
    "drain-process-beside-rq": Goal("PostgreSQL: drain, lane `process`, two slots / RQ, two workers", 4, 6),
    "cpu-async-beside-pgqueuer": Goal(
        "PostgreSQL: CPU a job of worker and server, lane `async` / PgQueuer", 1.2, 0.8, more_is_better=False
    ),
    "cpu-async": Goal(
        "PostgreSQL: CPU a job of worker and server, lane `async`", 75, 60, "µs", more_is_better=False
    ),
    "enqueue-singly": Goal("PostgreSQL: enqueue one by one, keyed / the best rival on PostgreSQL", 1, 1.2),
    "enqueue-bulk": Goal("PostgreSQL: bulk enqueue / the best rival on PostgreSQL", 1, 1.5),
    "start-latency-async": Goal(
        "PostgreSQL: from the call of enqueue to the handler's first line, lane `async`, worker idle, p50",
        *(4, 2, "ms"),
        more_is_better=False,
    ),
    **{
        f"pace-{pace}{suffix}{at}": Goal(
            f"PostgreSQL: {said}, from the call of enqueue to the first line, lane `async`, "
            f"{'p50' if not at else 'p99'} / PgQueuer",
            *targets,
            more_is_better=False,
        )
        for pace, every in PACES.items()
        for suffix, callers in (("", "one caller"), ("-ten", "ten callers"))
        for said in (f"a job every {every * 1e3:g} ms, {callers}",)
        for at, targets in (("", (1.1, 1.0)), ("-p99", (3.0, 1.5)))
    },
    "limit": Goal("PostgreSQL: drain with a concurrency limit / without, as many at once", 0.85, 0.95),
    "memory-growth": Goal(
        "PostgreSQL: PSS of a worker after 500,000 jobs / after the first tenth",
        1.05,
        1.02,
        more_is_better=False,
    ),
}
"""Beside rivals, and of the lanes that rivals are held against."""

WEBHOOK_GOALS: dict[str, Goal] = {
    f"drain-beside-webhook{suffix}": Goal(
        f"{store}: drain, lane `async`, with a webhook for `failed` / with none", 0.97, 0.99
    )
    for store, suffix in (("PostgreSQL", ""), ("SQLite", "-sqlite"))
}
"""Of webhooks."""

MESSAGE_GOALS: dict[str, Goal] = {
    f"drain-by-messages{suffix}": Goal(
        f"{store}: drain, lane `async`, led by messages of moto's server / without", 0.01, 0.1
    )
    for store, suffix in (("PostgreSQL", ""), ("SQLite", "-sqlite"))
}
"""Of messages that lead workers to jobs: low, since the server that stands for SQS is slow."""

FLAT = Goal("", 0.90, 0.97)
"""Of a ratio, grown / small."""

_GROWTH = {
    "waiting": "{} jobs waiting",
    "history": "{} jobs ended",
    "workers": "{} workers",
    "keys": "{} concurrency keys",
    "definitions": "{} definitions",
}


def growth_goal(name: str) -> Goal:
    """The goal of a figure such as `growth-enqueue-waiting-1000000`: flat within ten percent."""
    words = name.removeprefix("growth-").split("-")
    what = "enqueue" if words[0] == "enqueue" else "drain"
    series, size, *more = words[1:] if what == "enqueue" else words
    beside = ", while retention removes them" if more else ""
    return FLAT._replace(what=f"PostgreSQL: {what}, {_GROWTH[series].format(f'{int(size):,}')}{beside} / few")


GROWTH_GOALS: dict[str, Goal] = {
    name: growth_goal(name)
    for name in (
        *("growth-waiting-1000000", "growth-enqueue-waiting-1000000"),
        *("growth-waiting-5000000", "growth-enqueue-waiting-5000000"),
        *("growth-history-20000000", "growth-enqueue-history-20000000", "growth-history-20000000-pruned"),
        *("growth-workers-10", "growth-workers-50"),
        *("growth-keys-1000", "growth-enqueue-keys-1000"),
        *("growth-keys-10000", "growth-enqueue-keys-10000"),
        *("growth-keys-100000", "growth-enqueue-keys-100000"),
        *("growth-definitions-10000", "growth-enqueue-definitions-10000"),
    )
}
"""Of a full run; with other sizes, each has the same goal."""

ALL_GOALS = {
    **GOALS,
    **WORKER_GOALS,
    **HTTP_GOALS,
    **PAGE_GOALS,
    **SCHEDULE_GOALS,
    **WEBHOOK_GOALS,
    **MESSAGE_GOALS,
    **GROWTH_GOALS,
    **RIVAL_GOALS,
}
