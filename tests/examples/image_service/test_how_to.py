"""The page "Build a service on Tenure": its excerpts are the files', and its commands do what it shows."""

import os
import re
import sys
from pathlib import Path

import pytest

from tests.debian import program
from tests.examples.image_service.sent import encoded
from tests.ports import free_port
from tests.surfaces.command import environment
from tests.surfaces.docs_reader import Reader, commands, files

ROOT = Path(__file__).parents[3]
SERVICE = ROOT / "examples/image_service"
PAGE = (ROOT / "docs/how-to/build-a-service.md").read_text()
EXCERPTS = list(files(PAGE))
COMMAND = "python -m examples.image_service"


@pytest.mark.parametrize(("name", "excerpt"), EXCERPTS, ids=[name for name, _ in EXCERPTS])
def test_an_excerpt_is_what_the_file_has(name: str, excerpt: str) -> None:
    assert excerpt.partition("\n")[2] in (SERVICE / name).read_text()


def test_the_page_comes_to_every_file() -> None:
    readme = (SERVICE / "README.md").read_text()
    for path in [*SERVICE.glob("*.py"), SERVICE / "page/index.html"]:
        name = str(path.relative_to(SERVICE))
        assert name == "__init__.py" or f"]({name})" in readme
    order = list(dict.fromkeys(re.findall(r"`(\w+\.py)`", PAGE)))
    assert order == ["pictures.py", "storage.py", "uploads.py", "views.py", "events.py", "api.py"]


def test_the_commands_do_what_the_page_shows(tmp_path: Path) -> None:
    """S2.7, S2.23, S2.53."""
    (tmp_path / "holiday.jpg").write_bytes(encoded(seed=600))
    port = free_port()
    here = {COMMAND: f"{COMMAND} --port {port}", ":8080": f":{port}", ":8081": f":{port + 1}"}
    around = environment(PYTHONPATH=str(ROOT))
    curl = Path(program("curl", "curl")).parent
    around["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), around["PATH"], str(curl)])
    with Reader.at(tmp_path, around, here) as reader:
        for typed in commands(PAGE):
            reader.follow(typed)
