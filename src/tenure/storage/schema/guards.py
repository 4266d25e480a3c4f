"""The databases' own guards, generated from the table of steps.

A guard is the last line of defence: whatever code, shell or script talks to the database, it can take no step
that `STEPS` does not have. `python -m tools.states` writes both texts into the migrations; `verify` compares
a database with what is generated here.
"""

import re
from collections.abc import Iterable
from itertools import groupby

from tenure.core.model.states import FINAL, FIRST, MOVES, OWNED, State

HEADER = "-- reads-from: 2\n-- Written from src/tenure/core/model/states.py by `make states`; do not edit.\n"
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
    RAISE EXCEPTION 'tenure: %: %', TG_TABLE_NAME, TG_ARGV[0] USING ERRCODE = 'TN001', TABLE = TG_TABLE_NAME;
END
"""
"""The body of PostgreSQL's refusal."""

USUAL = ((State.QUEUED, State.RUNNING), (State.RUNNING, State.SUCCEEDED))
"""The steps that nearly every job takes."""

REFUNDS = ((State.RUNNING, State.QUEUED), (State.RUNNING, State.SUSPENDED))
"""The steps that may give an attempt back."""

_TRIGGER = re.compile(r"CREATE TRIGGER (\w+) BEFORE \w+ ON (?:tenure\.(\w+).*?\);|tenure_.*?END;)", re.DOTALL)
_FALLS = "NEW.fence < OLD.fence OR NEW.n < OLD.n OR NEW.id <> OLD.id"

_BORN = "a job is not born in this state"
_STEP = "no step leads there"
_FINAL = "a finished job never changes"
_FENCE = "neither a fence nor a count of events ever falls"
_DELETE = "only retention deletes, and only finished jobs"
_RECORD = "what is on record stays as it is"
_ATTEMPTS = "attempts are neither added nor given back, but by the steps that do so"
_ENDED = "an attempt is on record when it has ended, under the fence and with the number of its claim"
_ANSWERED = "a result is that of a job which has succeeded and says that it has one"

# Pruning lets itself through, for its own transaction alone.
_POSTGRES_NOT_PRUNING = "current_setting('tenure.pruning'::text, true) IS DISTINCT FROM 'on'::text"
_SQLITE_NOT_PRUNING = "NOT EXISTS (SELECT 1 FROM tenure_permit)"

# A step changes the job's state row first; a row added without a step would be in the way of the next one.
# On SQLite alone, and not for events: the other look-ups would cost the claim loop more than they are worth.
# What they would refuse, `inspect` finds.
_ADMITTED = {
    "attempt": {
        """NOT EXISTS (SELECT 1 FROM tenure_job_state s
                      WHERE s.id = NEW.job AND s.fence = NEW.fence AND s.fence > 0 AND s.lease IS NULL
                        AND NEW.number BETWEEN s.attempt AND s.attempt + 1)""": _ENDED
    },
    "result": {
        """NOT EXISTS (SELECT 1 FROM tenure_job_state s
                      WHERE s.id = NEW.job AND s.state = 'succeeded' AND s.has_result)""": _ANSWERED
    },
}


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
    """The body of PostgreSQL's check of a change of a job's state row."""
    illegal = "NOT (tenure.is_step(OLD.state, NEW.state) AND NEW.n = OLD.n + 1)"
    rules = {
        f"OLD.state = ANY ({_array(FINAL)})": _FINAL,
        _FALLS: _FENCE,
        f"OLD.state <> NEW.state AND {illegal}": _STEP,
        _attempts_forged(): _ATTEMPTS,
    }
    said = "USING ERRCODE = 'TN001', TABLE = TG_TABLE_NAME;"
    judged = "".join(
        f"    IF {broken} THEN\n        RAISE EXCEPTION 'tenure: job_state: {message}' {said}\n    END IF;\n"
        for broken, message in rules.items()
    )
    return f"\nBEGIN\n{judged}    RETURN NEW;\nEND\n"


def postgres_lease_check() -> str:
    """The condition that a lease exists exactly while a worker owns the job."""
    return f"CHECK ((state = ANY ({_array(OWNED)})) = (lease IS NOT NULL))"


def same_wording(ours: str, theirs: str) -> bool:
    """Whether our text equals PostgreSQL's, which adds parentheses and casts of its own."""
    return _plain(ours) == _plain(theirs)


def sqlite_guard() -> str:
    """The guard of the SQLite store, as a migration."""
    return HEADER + "".join(f"\n{trigger};\n" for trigger in sqlite_triggers().values())


def sqlite_triggers() -> dict[str, str]:
    """The triggers of the SQLite store by name, in exactly the text that the database keeps."""
    illegal = f"NOT ({_cases('OLD.state', 'NEW.state', otherwise='0')}\n         AND NEW.n = OLD.n + 1)"
    unfinished = f"OLD.state NOT IN ({_words(FINAL)})"
    changes = {
        f"OLD.state IN ({_words(FINAL)})": _FINAL,
        _FALLS: _FENCE,
        f"OLD.state <> NEW.state AND {illegal}": _STEP,
        _attempts_forged(): _ATTEMPTS,
    }
    born = {f"NEW.state NOT IN ({_words(FIRST)})": _BORN, _is_there("job_state", ("id",)): _RECORD}
    triggers = [
        _refusal("step", "UPDATE", "job_state", changes),
        _refusal("delete", "DELETE", "job_state", {f"{unfinished} OR {_SQLITE_NOT_PRUNING}": _DELETE}),
        _refusal("first", "INSERT", "job_state", born),
    ]
    for table, key in RECORDS.items():
        added = {_is_there(table, key): _RECORD}
        added |= _ADMITTED.get(table, {})
        triggers += [
            _refusal(f"{table}_update", "UPDATE", table, {"true": _RECORD}),
            _refusal(f"{table}_delete", "DELETE", table, {_SQLITE_NOT_PRUNING: _DELETE}),
            _refusal(f"{table}_insert", "INSERT", table, added),
        ]
    return dict(triggers)


def written_in(migrations: Iterable[str]) -> dict[str, str]:
    """The triggers that migrations make, as written there: by table and name, or on SQLite by name."""
    found = (match for text in migrations for match in _TRIGGER.finditer(text))
    return {f"{match[2]}.{match[1]}" if match[2] else match[1]: match[0].rstrip(";") for match in found}


def sqlite_lease_check() -> str:
    """The condition that a lease exists exactly while a worker owns the job."""
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
    """Whether a change is not one of the usual steps, and so has to be checked."""
    others = (f"(OLD.state <> '{source}' OR NEW.state <> '{target}')" for source, target in USUAL)
    changed = "NEW.max_attempts <> OLD.max_attempts OR NEW.attempt < OLD.attempt"
    falls = "NEW.fence < OLD.fence OR NEW.id <> OLD.id"
    return f"NEW.n <> OLD.n + 1 OR {falls} OR {changed} OR {' AND '.join(others)}"


def _attempts_forged() -> str:
    """Whether a change moves the bound of attempts, or refunds one where no step does."""
    refunded = " OR ".join(f"OLD.state = '{source}' AND NEW.state = '{target}'" for source, target in REFUNDS)
    return (
        "NEW.max_attempts <> OLD.max_attempts OR NEW.attempt < OLD.attempt"
        f" AND NOT (NEW.attempt = OLD.attempt - 1 AND ({refunded}))"
    )


def _is_there(table: str, key: tuple[str, ...]) -> str:
    """INSERT OR REPLACE deletes a conflicting row without running its trigger: so check before."""
    same = " AND ".join(f"{column} = NEW.{column}" for column in key)
    return f"EXISTS (SELECT 1 FROM tenure_{table} WHERE {same})"  # noqa: S608 - our own names


def _refusal(name: str, on: str, table: str, rules: dict[str, str]) -> tuple[str, str]:
    """One trigger for all rules of a change: a second trigger costs as much as the rules in it."""
    cases = "".join(
        f"    WHEN {broken}\n    THEN RAISE(ABORT, 'tenure: {table}: {message}')\n"
        for broken, message in rules.items()
    )
    text = f"CREATE TRIGGER tenure_guard_{name} BEFORE {on} ON tenure_{table}\nBEGIN SELECT CASE\n{cases}"
    return f"tenure_guard_{name}", f"{text}    END; END"


def _cases(source: str, target: str, *, otherwise: str) -> str:
    ordered = sorted(MOVES, key=lambda move: list(State).index(move[0]))
    lines = [
        f"        WHEN '{state}' THEN {target} IN ({_words(move[1] for move in moves)})"
        for state, moves in groupby(ordered, key=lambda move: move[0])
    ]
    return f"CASE {source}\n" + "\n".join(lines) + f"\n        ELSE {otherwise} END"


def _array(states: Iterable[State]) -> str:
    # As one constant: an array expression would be evaluated anew by every statement.
    chosen = set(states)
    return f"'{{{','.join(state for state in State if state in chosen)}}}'::tenure.state[]"


def _words(states: Iterable[State]) -> str:
    chosen = set(states)
    return ", ".join(f"'{state}'" for state in State if state in chosen)


def _plain(text: str) -> str:
    return re.sub(r"::tenure\.state(\[\])?|[\s()]", "", text.lower())
