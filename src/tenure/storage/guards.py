"""The databases' own guards, written from the table of steps.

A guard is the last line: whatever code, shell or script talks to the database, it takes no step that
`STEPS` does not have. `python -m tools.states` writes both texts into the migrations; `verify` compares what a
database really holds with what is written here.
"""

from collections.abc import Iterable
from itertools import groupby

from tenure.core.states import FINAL, FIRST, MOVES, State

HEADER = "-- Written from src/tenure/core/states.py by `make states`; do not edit.\n"
FROZEN = ("job", "event", "attempt", "result")
"""Tables whose rows are written once and never changed."""


def postgres_guard() -> str:
    """The guard of the PostgreSQL store, as a migration."""
    return f"""{HEADER}
-- Whether the table of steps leads from one state to the other.
CREATE FUNCTION tenure.is_step(source tenure.state, target tenure.state) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
    SELECT {_cases("source", "target", otherwise="false")}
$$;

CREATE FUNCTION tenure.refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'tenure: %', TG_ARGV[0] USING ERRCODE = 'TN001', TABLE = TG_TABLE_NAME;
END
$$;

CREATE TRIGGER guard_first BEFORE INSERT ON tenure.job_state FOR EACH ROW
    WHEN (NEW.state NOT IN ({_words(FIRST)}))
    EXECUTE FUNCTION tenure.refuse('a job is not born in this state');

CREATE TRIGGER guard_step BEFORE UPDATE ON tenure.job_state FOR EACH ROW
    WHEN (OLD.state <> NEW.state AND NOT (tenure.is_step(OLD.state, NEW.state) AND NEW.n = OLD.n + 1))
    EXECUTE FUNCTION tenure.refuse('no step leads there');

CREATE TRIGGER guard_final BEFORE UPDATE ON tenure.job_state FOR EACH ROW
    WHEN (OLD.state IN ({_words(FINAL)}))
    EXECUTE FUNCTION tenure.refuse('a finished job never changes');

CREATE TRIGGER guard_fence BEFORE UPDATE ON tenure.job_state FOR EACH ROW
    WHEN (NEW.fence < OLD.fence OR NEW.id <> OLD.id)
    EXECUTE FUNCTION tenure.refuse('a fence never falls');

CREATE TRIGGER guard_delete BEFORE DELETE ON tenure.job_state FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('jobs are not deleted');
""" + "".join(
        f"""
CREATE TRIGGER guard_frozen BEFORE UPDATE OR DELETE ON tenure.{table} FOR EACH STATEMENT
    EXECUTE FUNCTION tenure.refuse('what is on record stays as it is');
"""
        for table in FROZEN
    )


def sqlite_guard() -> str:
    """The guard of the SQLite store, as a migration."""
    return HEADER + "".join(f"\n{trigger};\n" for trigger in sqlite_triggers().values())


def sqlite_triggers() -> dict[str, str]:
    """The guard of the SQLite store, trigger by trigger, in the very text that the database keeps."""
    state = "tenure_job_state"
    illegal = f"NOT ({_cases('OLD.state', 'NEW.state', otherwise='0')}\n         AND NEW.n = OLD.n + 1)"
    triggers = [
        _refusal(
            "guard_first",
            f"INSERT ON {state}",
            f"NEW.state NOT IN ({_words(FIRST)})",
            "a job is not born in this state",
        ),
        _refusal(
            "guard_step", f"UPDATE ON {state}", f"OLD.state <> NEW.state AND {illegal}", "no step leads there"
        ),
        _refusal(
            "guard_final",
            f"UPDATE ON {state}",
            f"OLD.state IN ({_words(FINAL)})",
            "a finished job never changes",
        ),
        _refusal(
            "guard_fence",
            f"UPDATE ON {state}",
            "NEW.fence < OLD.fence OR NEW.id <> OLD.id",
            "a fence never falls",
        ),
        _refusal("guard_delete", f"DELETE ON {state}", "true", "jobs are not deleted"),
    ]
    for table in FROZEN:
        for verb in ("UPDATE", "DELETE"):
            name = f"guard_{table}_{verb.lower()}"
            triggers.append(
                _refusal(name, f"{verb} ON tenure_{table}", "true", "what is on record stays as it is")
            )
    return dict(triggers)


def _refusal(name: str, on: str, when: str, message: str) -> tuple[str, str]:
    text = f"CREATE TRIGGER tenure_{name} BEFORE {on}\n    WHEN {when}\nBEGIN SELECT RAISE(ABORT, 'tenure: {message}'); END"
    return f"tenure_{name}", text


def _cases(source: str, target: str, *, otherwise: str) -> str:
    lines = [
        f"        WHEN '{state}' THEN {target} IN ({_words(move[1] for move in moves)})"
        for state, moves in groupby(
            sorted(MOVES, key=lambda move: list(State).index(move[0])), key=lambda move: move[0]
        )
    ]
    return f"CASE {source}\n" + "\n".join(lines) + f"\n        ELSE {otherwise} END"


def _words(states: Iterable[State]) -> str:
    chosen = set(states)
    return ", ".join(f"'{state}'" for state in State if state in chosen)
