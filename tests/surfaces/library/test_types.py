"""Type checkers know what a job takes and returns; mypy says so in its run over all files."""

import json
import shutil
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
    """In strict mode: nothing is of an unknown type."""
    program = tmp_path / "program.py"
    shutil.copy(typed_calls.__file__, program)
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(STRICT))
    checked = pyright.check(tmp_path)
    assert "0 errors, 0 warnings" in checked.stdout, checked.stdout + checked.stderr

    wrong = "\nreport.enqueue_sync(Thumb(3))\nreport.enqueue_sync()\n"
    program.write_text(program.read_text() + wrong)
    said = pyright.check(tmp_path).stdout
    assert '"Thumb" is not assignable to "Welcome"' in said
    assert "2 errors" in said
