"""The products that are measured: where their jobs are, how their workers are started, what they promise."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

POSTGRES, REDIS, SQLITE = "PostgreSQL", "Redis", "SQLite"
NODE = "node"
"""The script of products that are not Python's, and their environment."""

DURABILITY = {
    POSTGRES: "every commit is synced to disk",
    REDIS: "saved to disk now and then: what was accepted since is lost with the server",
    SQLITE: "every commit is synced to disk (FULL)",
}
"""What has become of a job when it is accepted, by the store as it is set up here."""


class Peer(NamedTuple):
    """A product in one arrangement."""

    key: str
    """In the names of rows and figures."""
    title: str
    store: str
    script: str
    """Its module under `bench.peers.scripts`, which is also the name of its environment."""
    package: str
    """By which its version is known."""
    work: tuple[str, ...]
    """The command of its worker; `{bin}` is where its programs are, `{address}` where its jobs are."""
    pending: tuple[str, ...]
    """Questions to the store: all answers are 0 when every job is settled."""
    pace: int
    """Jobs a second to expect, roughly; how many jobs a round has is found by a trial."""
    keeps: str
    """What is left of a job that has succeeded."""
    tuned: str
    environment: Mapping[str, str] = MappingProxyType({})
    is_ours: bool = False

    @property
    def call(self) -> tuple[str, ...]:
        """The command that enqueues, without its arguments."""
        return self.work[:-1] if self.script == NODE else _script(self.script)[:-1]


def _script(name: str) -> tuple[str, ...]:
    return ("{bin}/python", "-m", f"bench.peers.scripts.{name}", "work")


def _node(name: str) -> tuple[str, ...]:
    return ("{node}", "{scripts}/node_products.mjs", name, "work")


ROW_KEPT = "the job's row"
NOTHING = "nothing"

RIVALS = (
    Peer(
        "pgqueuer",
        "PgQueuer",
        POSTGRES,
        "pgqueuer",
        "pgqueuer",
        _script("pgqueuer"),
        ("SELECT count(*) FROM pgqueuer",),
        8_000,
        "a line in its log, no result",
        "asyncpg, uvloop, batches of 100",
    ),
    Peer(
        "oban",
        "Oban (Python)",
        POSTGRES,
        "oban",
        "oban",
        _script("oban"),
        ("SELECT count(*) FROM oban_jobs WHERE state <> 'completed'",),
        1_300,
        ROW_KEPT,
        "psycopg, uvloop, a queue of 100 at once",
    ),
    Peer(
        "chancy",
        "Chancy",
        POSTGRES,
        "chancy",
        "chancy",
        _script("chancy"),
        ("SELECT count(*) FROM chancy_jobs WHERE state <> 'succeeded'",),
        2_000,
        ROW_KEPT,
        "asyncio executor, 100 at once, eager polling",
    ),
    Peer(
        "procrastinate",
        "Procrastinate",
        POSTGRES,
        "procrastinate",
        "procrastinate",
        _script("procrastinate"),
        ("SELECT count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')",),
        300,
        ROW_KEPT + " and its events",
        "20 at once, woken by notifications",
    ),
    Peer(
        "dbos",
        "DBOS",
        POSTGRES,
        "dbos",
        "dbos",
        _script("dbos"),
        ("SELECT count(*) FROM dbos.workflow_status WHERE status NOT IN ('SUCCESS', 'ERROR')",),
        350,
        "the workflow's row with its result",
        "a queue of 100 at once, looked at ten times a second",
    ),
    Peer(
        "pgboss",
        "pg-boss (Node)",
        POSTGRES,
        NODE,
        "pg-boss",
        _node("pgboss"),
        ("SELECT count(*) FROM pgboss.job WHERE name = 'stamp' AND state < 'completed'",),
        14_000,
        ROW_KEPT,
        "batches of 500, the next at once when one was full, woken by notifications",
    ),
    Peer(
        "graphile",
        "Graphile Worker (Node)",
        POSTGRES,
        NODE,
        "graphile-worker",
        _node("graphile"),
        ("SELECT count(*) FROM graphile_worker._private_jobs",),
        18_000,
        NOTHING,
        "local queue of 500, completions in batches, 24 at once",
    ),
    Peer(
        "huey-sqlite",
        "Huey",
        SQLITE,
        "huey",
        "huey",
        (
            *("{bin}/huey_consumer", "bench.peers.scripts.huey_tasks.huey", "-k", "thread", "-w", "1"),
            *("-n", "-q", "-d", "0.01", "-m", "0.1"),
        ),
        ("SELECT count(*) FROM task",),
        3_000,
        NOTHING,
        "one thread, since more only wait for each other; looks every 10 to 100 ms",
    ),
    Peer(
        "celery",
        "Celery, prefork",
        REDIS,
        "celery",
        "celery",
        (
            *("{bin}/celery", "-A", "bench.peers.scripts.celery", "worker", "-P", "prefork", "-c", "2"),
            *("--without-gossip", "--without-mingle", "--without-heartbeat", "-l", "ERROR"),
        ),
        ("LLEN celery", "HLEN unacked"),
        700,
        NOTHING,
        "two processes, 64 messages ahead each, no results, acknowledged before they run",
    ),
    Peer(
        "dramatiq",
        "Dramatiq",
        REDIS,
        "dramatiq",
        "dramatiq",
        ("{bin}/dramatiq", "bench.peers.scripts.dramatiq", "--processes", "2", "--threads", "8"),
        ("HLEN dramatiq:default.msgs",),
        3_500,
        NOTHING,
        "two processes with eight threads each, without metrics",
    ),
    Peer(
        "huey",
        "Huey",
        REDIS,
        "huey",
        "huey",
        (
            *("{bin}/huey_consumer", "bench.peers.scripts.huey_tasks.huey", "-k", "process", "-w", "2"),
            *("-n", "-q"),
        ),
        ("LLEN huey.redis.bench",),
        3_500,
        NOTHING,
        "two processes, no results, taken off the list before they run",
    ),
    Peer(
        "rq",
        "RQ",
        REDIS,
        "rq",
        "rq",
        ("{bin}/rq", "worker-pool", "default", "--num-workers", "2", "--url", "{address}", "--quiet"),
        ("LLEN rq:queue:default", "ZCARD rq:wip:default"),
        60,
        "the result, for 500 s",
        "two workers, a fork for each job",
    ),
)


def _ours(kind: str, store: str, pace: int, tuned: str, **settings: str) -> Peer:
    tables = {POSTGRES: "tenure.job_state", SQLITE: "tenure_job_state"}
    return Peer(
        f"tenure-{kind}-{store.lower()}",
        "**Tenure**",
        store,
        "tenure",
        "tenure",
        ("{bin}/python", "-m", "tenure", "worker", f"bench.lane_jobs:{kind}_app", "--database", "{address}"),
        (f"SELECT count(*) FROM {tables[store]} WHERE state <> 'succeeded'",),
        pace,
        "job, attempts with results, every step",
        tuned,
        {"BENCH_LANE": kind, "NO_COLOR": "1", **settings},
        is_ours=True,
    )


ASYNC = _ours("async", POSTGRES, 8_000, "lane `async`, 100 at once", TENURE_ASYNC_SLOTS="100")
ASYNC_SQLITE = _ours("async", SQLITE, 8_000, ASYNC.tuned, TENURE_ASYNC_SLOTS="100")
WARM = _ours("warm", POSTGRES, 3_000, "lane `warm`, two children", TENURE_WARM_SLOTS="2")
PROCESS = _ours(
    "process", POSTGRES, 150, "lane `process`, a fresh process a job, two slots", TENURE_SLOTS="2"
)
_AT_ONCE = {"TENURE_ASYNC_SLOTS": "20", "TENURE_BUFFER": "0"}
"""A limit counts jobs from their claim on, so that none can be held ahead: for both sides alike."""

UNLIMITED = _ours("async", POSTGRES, 8_000, "lane `async`, 20 claimed at once", **_AT_ONCE)
LIMITED = _ours("limited", POSTGRES, 8_000, "lane `async`, 20 claimed at once, limited to 20", **_AT_ONCE)
