"""Type checkers know what a job takes and returns; mypy says so in its run over all files."""

import json
import sys
from pathlib import Path

from tests import pyright
from tests.surfaces.library import typed_calls

STRICT = {
    "include": ["program.py"],
    "typeCheckingMode": "strict",
    "reportUnnecessaryTypeIgnoreComment": "error",
    "venvPath": str(Path(sys.prefix).parent),
    "venv": Path(sys.prefix).name,
    "extraPaths": [str(Path(__file__).parents[3] / "src")],
}


def test_pyright_refuses_what_a_function_does_not_take_and_nothing_else(tmp_path: Path) -> None:
    """In strict mode: nothing is of an unknown type. Only the two calls that are added have no `ignore`."""
    wrong = "\nreport.enqueue_sync(Thumb(3))\nreport.enqueue_sync()\n"
    (tmp_path / "program.py").write_text(Path(typed_calls.__file__).read_text() + wrong)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(STRICT))
    checked = pyright.check(tmp_path)
    assert '"Thumb" is not assignable to "Welcome"' in checked.stdout, checked.stdout + checked.stderr
    assert "2 errors, 0 warnings" in checked.stdout, checked.stdout
