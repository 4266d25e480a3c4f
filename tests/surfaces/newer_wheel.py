"""A version of Tenure from the future: a copy of the source with one more migration, and code that uses it.

The migration adds a table, a column that may be empty, and a kind of timers. Whatever the copy enqueues
writes all three; the timers are due at once, and only the copy's own workers take them away.
"""

import re
import shutil
from pathlib import Path

import tenure
from tenure.core.model.states import TIMERS

NUMBER = 9000
KIND = "from_the_future"
_SOURCE = Path(tenure.__file__).parent
_KINDS = "('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up')"
_NEWER_KINDS = _KINDS.replace(")", f", '{KIND}')")
_COLUMN = ", flavour)"

_MIGRATIONS = {
    "postgres": f"""\
CREATE TABLE tenure.future (job uuid PRIMARY KEY);
ALTER TABLE tenure.job ADD COLUMN flavour text;
CREATE INDEX job_flavour ON tenure.job (flavour) WHERE flavour IS NOT NULL;
CREATE INDEX timer_future ON tenure.timer (due_at, job) WHERE kind IN {_NEWER_KINDS};
""",
    "sqlite": f"""\
CREATE TABLE tenure_future (job TEXT PRIMARY KEY NOT NULL) STRICT, WITHOUT ROWID;
ALTER TABLE tenure_job ADD COLUMN flavour TEXT;
CREATE INDEX tenure_job_flavour ON tenure_job (flavour) WHERE flavour IS NOT NULL;
CREATE INDEX tenure_timer_future ON tenure_timer (due_at, job) WHERE kind IN {_NEWER_KINDS};
""",
}
_CATALOGUE = "table future\ncolumn future.job uuid NOT NULL\ncolumn job.flavour text\n"
_NAMED_INDEX = "INDEXED BY tenure_timer_known"
"""SQLite's statements name the index of the kinds that they know; PostgreSQL's find theirs by the kinds."""
_ADDED = {
    "postgres": f"""\
future AS (
    INSERT INTO tenure.future (job) SELECT id FROM {{made}}
),
future_timers AS (
    INSERT INTO tenure.timer (due_at, job, kind) SELECT tenure.now(), id, '{KIND}' FROM {{made}}
),
tallied AS (""",
    "sqlite": f"""\
-- part: future
INSERT INTO tenure_future (job) SELECT id FROM temp.given_job;

-- part: future_timers
INSERT INTO tenure_timer (due_at, job, kind) SELECT :now, id, '{KIND}' FROM temp.given_job;

-- part: answer
""",
}


def build(folder: Path, *, known: int) -> Path:
    """Make the copy; returns what has to stand in PYTHONPATH. `known` is what older code must know."""
    copy = folder / "tenure"
    # With what is compiled already: it holds good for the files that stay as they are.
    shutil.copytree(_SOURCE, copy)
    assert {kind for kinds in TIMERS.values() for kind in kinds} == set(re.findall(r"\w+", _KINDS))
    for store, text in _MIGRATIONS.items():
        own = copy / "storage" / store
        (own / f"migrations/{NUMBER}_future.sql").write_text(f"-- reads-from: {known}\n{text}")
        for verb in ("promote", "outlook"):
            _edit(own / f"sql/{verb}.sql", re.escape(_KINDS), _NEWER_KINDS)
            if store == "sqlite":
                _edit(own / f"sql/{verb}.sql", _NAMED_INDEX, "INDEXED BY tenure_timer_future")
    with (copy / "storage/postgres/catalogue.txt").open("a") as catalogue:
        catalogue.write(_CATALOGUE)
    _write_more_on_postgres(copy / "storage/postgres/sql/enqueue.sql")
    _write_more_on_sqlite(copy / "storage/sqlite/sql/enqueue.sql")
    return folder


def _write_more_on_postgres(file: Path) -> None:
    for part, made in (("record", "fresh"), ("one", "placed"), ("alike", "placed")):
        begin = rf"(?s)(?<=-- part: {part}\n)(.*?)"
        _edit(file, begin + r"creator\)(?=\n    SELECT )", r"\1creator" + _COLUMN)
        _edit(file, begin + r"(\n *:creator::text|traceparent, tags, creator)(?=\n)", r"\1\2, 'sweet'")
        _edit(file, begin + r"\ntallied AS \(", r"\1\n" + _ADDED["postgres"].format(made=made))


def _write_more_on_sqlite(file: Path) -> None:
    _edit(file, r"creator, mark\)(?=\nSELECT)", "creator, mark" + _COLUMN)
    _edit(file, r"creator, :mark(?=\n  FROM)", "creator, :mark, 'sweet'")
    _edit(file, r"-- part: answer\n", _ADDED["sqlite"])


def _edit(file: Path, old: str, new: str) -> None:
    text, edits = re.subn(old, new, file.read_text(), count=0 if old == re.escape(_KINDS) else 1)
    assert edits, f"{file.name} has changed: what is {old!r} here now?"
    file.write_text(text)
