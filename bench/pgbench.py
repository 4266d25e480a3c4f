"""The yardstick for PostgreSQL: the store's own statement, driven by pgbench.

pgbench is a client in C that throws the answer away, so it shows what the server gives to a client that
costs next to nothing. One transaction of it is one turn of the store: the text of `settle_and_claim.turn`
as busy workers use it, one round trip, one commit, the same settings of the session, prepared once, and the
same columns of the same rows sent back. The first turn, in which both prepare the statement, is timed on both
sides.

A script of pgbench cannot hold on to a batch of ids: of an answer it keeps the last row only, which is
enough for the fence and the place in line. So some of the statement's values are worked out on the server:
the jobs to settle are read from the lease row that the turn before has made (a look-up by key), and what is
equal for the whole batch (fence, ending, result …) is repeated there, where the store sends arrays. That is
less work for both sides, so in this the yardstick is if anything too fast. One thing is dearer: pgbench has
the rows written as text, asyncpg as binary. And once a second the store looks up its places in line, which
pgbench never does.
"""

import os
import re
import resource
import subprocess
import tempfile
from itertools import count
from urllib.parse import urlsplit

from bench.figures import Round
from bench.loop import LONGEST_ROUND
from bench.postgres import Database, ask
from tenure.core.values.bounds import MOST_SUSPENSIONS
from tenure.storage.postgres.claims import statement_choice
from tenure.storage.postgres.wire import pool
from tenure.storage.schema import statements

WORKED_OUT = {
    "jobs": "(SELECT jobs FROM tenure.lease WHERE id = :fence::bigint)",
    "fences": "array_fill(:fence::bigint, ARRAY[:limit::integer])",
    "held": "array_fill(:fence::bigint, ARRAY[1])",
    "endings": "array_fill('succeeded'::text, ARRAY[:limit::integer])",
    "results": "array_fill('null'::text, ARRAY[:limit::integer])",
    "errors": "array_fill(NULL::text, ARRAY[:limit::integer])",
    "afters": "array_fill(interval '0', ARRAY[:limit::integer])",
    "after_seqs": "array_fill(:seq::bigint, ARRAY[1])",
}
_UNSAID = ("cpu_ms", "peak_bytes", "exit_codes", "signals")
_SENT = ("worker", "lease_for", "limit", "most_suspensions", "lines", "ranks", "limiteds", "limits", *_UNSAID)
_RATE = re.compile(r"^tps = ([\d.]+) \(without initial connection time\)", re.MULTILINE)
_rounds = count(1)


class YardstickBroken(RuntimeError):
    """pgbench did not do what the store does."""


def script() -> str:
    """The store's statement as a script; `\\aset` keeps the last row of the answer for the turn after it."""
    text = statements.load("tenure.storage.postgres")[statement_choice.BARE]
    unknown = set(statements.numbered(text).names) - {*WORKED_OUT, *_SENT}
    if unknown:
        raise YardstickBroken(f"the statement has values that the script cannot give: {sorted(unknown)}")
    for name, expression in WORKED_OUT.items():
        text = re.sub(rf"(?<![:\w]):{name}\b", expression, text)
    return f"{text}\n\\aset\n"


def pgbench_turns(database: Database, *, batch: int, turns: int) -> Round:
    """So many turns by pgbench. Those of the last batch stay claimed."""
    database.take(batch * turns)
    worker = f"pgbench-{next(_rounds)}"
    values = {
        "fence": 0,
        "seq": 0,
        "worker": worker,
        "lease_for": "30 seconds",
        "limit": batch,
        "most_suspensions": MOST_SUSPENSIONS,
        "lines": f"{{{database.line()}}}",
        "ranks": "{0}",
        "limiteds": "{f}",
        "limits": "{}",
        **dict.fromkeys(_UNSAID, "{}"),
    }
    server = database.postgres.cpu()
    client = _children_cpu()
    said = _pgbench(database, values, turns)
    client = _children_cpu() - client
    ended = database.postgres.cpu()
    rate = _RATE.search(said)
    if rate is None:
        raise YardstickBroken(f"pgbench said:\n{said}")
    settled = ask(database.dsn, f"SELECT count(*) FROM tenure.attempt WHERE worker = '{worker}'")
    if settled != batch * (turns - 1):
        raise YardstickBroken(f"pgbench settled {settled:,} jobs of {batch * (turns - 1):,}")
    spent = None if server is None or ended is None else ended - server
    return Round(batch * turns, turns / float(rate[1]), client, spent)


def _pgbench(database: Database, values: dict[str, object], turns: int) -> str:
    address = urlsplit(database.dsn)
    settings = pool._DIRECT["server_settings"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment["PGOPTIONS"] = " ".join(f"-c {name}={value}" for name, value in settings.items())
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script())
        file.flush()
        ran = subprocess.run(
            [
                *(database.postgres.binaries / "pgbench", "--no-vacuum", "--protocol=prepared", "--client=1"),
                *(f"--transactions={turns}", f"--file={file.name}"),
                *(f"--host={address.hostname}", f"--port={address.port}", f"--username={address.username}"),
                *(f"--define={name}={value}" for name, value in values.items()),
                address.path.lstrip("/"),
            ],
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_ROUND,
            check=False,
        )
    if ran.returncode != 0:
        raise YardstickBroken(f"pgbench failed:\n{ran.stderr}")
    return ran.stdout


def _children_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
