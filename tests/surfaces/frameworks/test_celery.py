"""The page for those who come from Celery: its program, and the words that it has for each thing."""

import re
from pathlib import Path

from tenure import Context, JobHandle, Tenure
from tenure.api.job_options import Options
from tenure.surfaces.library.definition import JobDefinition
from tenure.surfaces.library.terms import DefinitionTerms
from tests.surfaces.conftest import Start
from tests.surfaces.frameworks.pages import DOCS, python, write


def test_the_program_of_the_page_runs_beside_its_worker(tmp_path: Path, start: Start, migrated: str) -> None:
    write("from-celery.md", tmp_path)
    start("worker", "jobs:app", TENURE_DATABASE=migrated)
    assert python(tmp_path, "jobs.py", TENURE_DATABASE=migrated) == "5\n"


def test_every_word_for_tenure_is_one() -> None:
    table = (DOCS / "how-to/from-celery.md").read_text().partition("| Celery |")[2]
    ours = "\n".join(row.split(" | ")[-1] for row in table.splitlines())
    options = set(re.findall(r"`(\w+)=", ours)) | set(re.findall(r"`(timeout|grace)`", ours))
    assert len(options) > 10
    assert options <= {*DefinitionTerms.__annotations__, *Options.__annotations__}
    for subject, kind in (("job", JobHandle), ("add", JobDefinition), ("app", Tenure), ("ctx", Context)):
        names = re.findall(rf"\b{subject}\.(\w+)", ours)
        assert names
        assert [name for name in names if not hasattr(kind, name) and name not in kind.__annotations__] == []
