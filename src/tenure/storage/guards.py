"""The databases' own guards, written from the table of steps.

A guard is the last line: whatever code, shell or script talks to the database, it takes no step that
`STEPS` does not have. `python -m tools.states` writes both texts into the migrations; `verify` compares what
a database really holds with what is written here.
"""

import re
from collections.abc import Iterable
from itertools import groupby

from tenure.core.states import FINAL, FIRST, MOVES, OWNED, State

HEADER = "-- Written from src/tenure/core/states.py by `make states`; do not edit.\n"
RECORDS = {
    "job": ("id",),
    "event": ("job", "n"),
    "attempt": ("job", "fence"),
    "log": ("job", "fence", "n"),
    "result": ("job",),
}
"""Tables whose rows are written once and never changed, with their keys."""

REFUSE = """
BEGIN
    RAISE EXCEPTION 'tenure: %', TG_ARGV[0] USING ERRCODE = 'TN001', TABLE = TG_TABLE_NAME;
END
"""
"""The body of PostgreSQL's refusal."""

USUAL = ((State.QUEUED, State.RUNNING), (State.RUNNING, State.SUCCEEDED))
"""The steps that nearly every job takes."""

_TRIGGER = re.compile(r"CREATE TRIGGER (\w+) BEFORE \w+ ON (?:tenure\.(\w+).*?\);|tenure_.*?END;)", re.DOTALL)
_FALLS = "NEW.fence < OLD.fence OR NEW.n < OLD.n OR NEW.id <> OLD.id"

_BORN = "a job is not born in this state"
_STEP = "no step leads there"
_FINAL = "a finished job never changes"
_FENCE = "neither a fence nor a count of events ever falls"
_DELETE = "only retention deletes, and only finished jobs"
_RECORD = "what is on record stays as it is"

# Pruning lets itself through, for its own transaction alone.
_POSTGRES_NOT_PRUNING = "current_setting('tenure.pruning'::text, true) IS DISTINCT FROM 'on'::text"
_SQLITE_NOT_PRUNING = "NOT EXISTS (SELECT 1 FROM tenure_permit)"


def postgres_guard() -> str:
    """The guard of the PostgreSQL store, as a migration."""
    triggers = "".join(f"\n{trigger};\n" for trigger in postgres_triggers().values())
    return f"""{HEADER}
-- Whether the table of steps leads from one state to the other.
CREATE FUNCTION tenure.is_step(source tenure.state, target tenure.state) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT {_cases("source", "target", otherwise="false")}
$$;

CREATE FUNCTION tenure.refuse() RETURNS trigger LANGUAGE plpgsql AS $${REFUSE}$$;

-- Every statement reads the conditions of triggers anew. That of `guard_step` is short and lets usual steps
-- pass; all other changes are judged here.
CREATE FUNCTION tenure.judge() RETURNS trigger LANGUAGE plpgsql AS $${postgres_judge()}$$;

ALTER TABLE tenure.job_state ADD CONSTRAINT lease_while_owned
    {postgres_lease_check()};
{triggers}"""


def postgres_triggers() -> dict[str, str]:
    """The triggers of the PostgreSQL store by table and name, worded as the database words them."""
    triggers = [
        _row_guard("guard_first", "INSERT", f"NEW.state <> ALL ({_array(FIRST)})", _BORN),
        _row_trigger("guard_step", "UPDATE", _unusual(), "tenure.judge()", "job_state"),
        _row_guard(
            "guard_delete",
            "DELETE",
            f"OLD.state <> ALL ({_array(FINAL)}) OR {_POSTGRES_NOT_PRUNING}",
            _DELETE,
        ),
        *(_row_guard("guard_delete", "DELETE", _POSTGRES_NOT_PRUNING, _DELETE, table) for table in RECORDS),
        *(_statement_guard("guard_record", "UPDATE", table, _RECORD) for table in RECORDS),
        *(
            _statement_guard("guard_truncate", "TRUNCATE", table, _RECORD)
            for table in ("job_state", *RECORDS)
        ),
    ]
    return dict(triggers)


def postgres_judge() -> str:
    """The body of PostgreSQL's judgement of a change of a job's state row."""
    illegal = "NOT (tenure.is_step(OLD.state, NEW.state) AND NEW.n = OLD.n + 1)"
    rules = {
        f"OLD.state = ANY ({_array(FINAL)})": _FINAL,
        _FALLS: _FENCE,
        f"OLD.state <> NEW.state AND {illegal}": _STEP,
    }
    said = "USING ERRCODE = 'TN001', TABLE = TG_TABLE_NAME;"
    judged = "".join(
        f"    IF {broken} THEN\n        RAISE EXCEPTION 'tenure: {message}' {said}\n    END IF;\n"
        for broken, message in rules.items()
    )
    return f"\nBEGIN\n{judged}    RETURN NEW;\nEND\n"


def postgres_lease_check() -> str:
    """The condition that a lease is there exactly while somebody owns the job."""
    return f"CHECK ((state = ANY ({_array(OWNED)})) = (lease IS NOT NULL))"


def same_wording(ours: str, theirs: str) -> bool:
    """Whether a text of ours is what PostgreSQL shows, which adds parentheses and casts of its own."""
    return _plain(ours) == _plain(theirs)


def sqlite_guard() -> str:
    """The guard of the SQLite store, as a migration."""
    return HEADER + "".join(f"\n{trigger};\n" for trigger in sqlite_triggers().values())


def sqlite_triggers() -> dict[str, str]:
    """The triggers of the SQLite store by name, in the very text that the database keeps."""
    state = "tenure_job_state"
    illegal = f"NOT ({_cases('OLD.state', 'NEW.state', otherwise='0')}\n         AND NEW.n = OLD.n + 1)"
    triggers = [
        _refusal("guard_first", f"INSERT ON {state}", f"NEW.state NOT IN ({_words(FIRST)})", _BORN),
        _refusal("guard_step", f"UPDATE ON {state}", f"OLD.state <> NEW.state AND {illegal}", _STEP),
        _refusal("guard_final", f"UPDATE ON {state}", f"OLD.state IN ({_words(FINAL)})", _FINAL),
        _refusal("guard_fence", f"UPDATE ON {state}", _FALLS, _FENCE),
        _refusal(
            "guard_delete",
            f"DELETE ON {state}",
            f"OLD.state NOT IN ({_words(FINAL)}) OR {_SQLITE_NOT_PRUNING}",
            _DELETE,
        ),
        _no_replacing("job_state", ("id",)),
    ]
    for table, key in RECORDS.items():
        triggers += [
            _refusal(f"guard_{table}_update", f"UPDATE ON tenure_{table}", "true", _RECORD),
            _refusal(f"guard_{table}_delete", f"DELETE ON tenure_{table}", _SQLITE_NOT_PRUNING, _DELETE),
            _no_replacing(table, key),
        ]
    return dict(triggers)


def written_in(migrations: Iterable[str]) -> dict[str, str]:
    """The triggers that migrations make, as written there: by table and name, or on SQLite by name."""
    found = (match for text in migrations for match in _TRIGGER.finditer(text))
    return {f"{match[2]}.{match[1]}" if match[2] else match[1]: match[0].rstrip(";") for match in found}


def sqlite_lease_check() -> str:
    """The condition that a lease is there exactly while somebody owns the job."""
    return f"CHECK ((state IN ({_words(OWNED)})) = (lease IS NOT NULL))"


def _row_guard(name: str, on: str, when: str, message: str, table: str = "job_state") -> tuple[str, str]:
    return _row_trigger(name, on, when, f"tenure.refuse('{message}')", table)


def _row_trigger(name: str, on: str, when: str, call: str, table: str) -> tuple[str, str]:
    text = f"CREATE TRIGGER {name} BEFORE {on} ON tenure.{table} FOR EACH ROW\n    WHEN ({when})"
    return f"{table}.{name}", f"{text}\n    EXECUTE FUNCTION {call}"


def _statement_guard(name: str, on: str, table: str, message: str) -> tuple[str, str]:
    text = f"CREATE TRIGGER {name} BEFORE {on} ON tenure.{table} FOR EACH STATEMENT"
    return f"{table}.{name}", f"{text}\n    EXECUTE FUNCTION tenure.refuse('{message}')"


def _unusual() -> str:
    """Whether a change is anything but one of the usual steps, and so has to be judged."""
    others = (f"(OLD.state <> '{source}' OR NEW.state <> '{target}')" for source, target in USUAL)
    return f"NEW.n <> OLD.n + 1 OR NEW.fence < OLD.fence OR NEW.id <> OLD.id OR {' AND '.join(others)}"


def _no_replacing(table: str, key: tuple[str, ...]) -> tuple[str, str]:
    """INSERT OR REPLACE deletes the row in its way without asking a trigger; this one asks first."""
    same = " AND ".join(f"{column} = NEW.{column}" for column in key)
    there = f"EXISTS (SELECT 1 FROM tenure_{table} WHERE {same})"  # noqa: S608 - our own names
    return _refusal(f"guard_{table}_replace", f"INSERT ON tenure_{table}", there, _RECORD)


def _refusal(name: str, on: str, when: str, message: str) -> tuple[str, str]:
    text = f"CREATE TRIGGER tenure_{name} BEFORE {on}\n    WHEN {when}\n"
    return f"tenure_{name}", f"{text}BEGIN SELECT RAISE(ABORT, 'tenure: {message}'); END"


def _cases(source: str, target: str, *, otherwise: str) -> str:
    ordered = sorted(MOVES, key=lambda move: list(State).index(move[0]))
    lines = [
        f"        WHEN '{state}' THEN {target} IN ({_words(move[1] for move in moves)})"
        for state, moves in groupby(ordered, key=lambda move: move[0])
    ]
    return f"CASE {source}\n" + "\n".join(lines) + f"\n        ELSE {otherwise} END"


def _array(states: Iterable[State]) -> str:
    # As a constant: an array of constants would be put together anew by every statement.
    chosen = set(states)
    return f"'{{{','.join(state for state in State if state in chosen)}}}'::tenure.state[]"


def _words(states: Iterable[State]) -> str:
    chosen = set(states)
    return ", ".join(f"'{state}'" for state in State if state in chosen)


def _plain(text: str) -> str:
    return re.sub(r"::tenure\.state(\[\])?|[\s()]", "", text.lower())
