"""What a PostgreSQL server says of itself, as facts and symptoms."""

from collections.abc import Iterable, Iterator

from tenure.core.reports.health import Checkup, Fact, Symptom
from tenure.storage.mapping.values import Row

HOT_TABLES = ("job_state", "lease", "line", "ready", "slot", "tally", "timer")
"""The tables that every job changes."""

_NEARLY_ALL = 0.9
_MOST_NOTIFY = 0.5
_MOST_DEAD = 100_000
_RIGHT = "cannot be seen: this needs the right `GRANT pg_read_all_stats TO {user}`"


def vitals_from(server: Row, oldest: Iterable[Row], tables: Iterable[Row]) -> Checkup:
    """The rows of `vitals`, in the words of the report."""
    facts = [
        Fact("connections", f"{server['used']} of {server['most']} in use"),
        Fact("notify queue", f"{server['notify']:.0%} full"),
    ]
    symptoms = list(_server(server))
    if not server["sees_all"]:
        facts.append(Fact("oldest transaction", _RIGHT.format(user=server["user"])))
    for session in oldest:
        if server["sees_all"]:
            facts.append(
                Fact("oldest transaction", f"{_session(session)}, since {session['since']:%H:%M:%SZ}")
            )
        if session["is_long"]:
            symptoms.append(_long(session))
    for table in tables:
        facts.append(Fact(f"table {table['name']}", _table(table)))
        symptoms += _dead(table)
    return Checkup(facts, symptoms)


def _server(server: Row) -> Iterator[Symptom]:
    if server["used"] >= _NEARLY_ALL * server["most"]:
        yield Symptom(
            kind="connections",
            what=f"{server['used']} of {server['most']} connections of the server are in use",
            cure="raise max_connections, lower TENURE_CONNECTIONS, or put a pooler in between",
        )
    if server["notify"] >= _MOST_NOTIFY:
        yield Symptom(
            kind="notify-queue",
            what=f"the queue of NOTIFY is {server['notify']:.0%} full; when it is full, commits fail",
            cure="end the session that listens and keeps a transaction open: see pg_stat_activity",
        )


def _session(session: Row) -> str:
    program = f" ({session['program']})" if session["program"] else ""
    return f"pid {session['pid']} of {session['user']}{program} on {session['database']}, {session['state']}"


def _long(session: Row) -> Symptom:
    return Symptom(
        kind="old-transaction",
        what=f"a transaction stays open: {_session(session)}; it keeps dead rows alive, and if it has "
        "written, it holds back events and streams",
        since=session["since"],
        cure=f"commit it, or end its session: SELECT pg_terminate_backend({session['pid']})",
    )


def _table(table: Row) -> str:
    hot = f"{table['hot'] / table['updates']:.0%} of updates HOT, " if table["updates"] else ""
    at = table["vacuumed_at"]
    vacuumed = "never vacuumed" if at is None else f"vacuumed {at:%Y-%m-%d %H:%M:%SZ}"
    return f"{table['live']:,} rows, {table['dead']:,} dead, {hot}{vacuumed}"


def _dead(table: Row) -> Iterator[Symptom]:
    if table["dead"] > _MOST_DEAD + 10 * table["live"]:
        yield Symptom(
            kind="dead-rows",
            what=f"table {table['name']} has {table['dead']:,} dead rows and {table['live']:,} others: "
            "vacuum does not keep up, and claims become slower",
            since=table["vacuumed_at"],
            cure=f"end old transactions, then run VACUUM tenure.{table['name']}",
        )
