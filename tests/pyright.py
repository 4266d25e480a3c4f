"""pyright, the other type checker that users run: the npm package, run by the Node that tests have."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from tests import debian, node, npm

PACKAGE = "pyright@1.1.414"


def program() -> Path:
    """Where it is; fetched into the cache unless it is there. Raises NpmFailed."""
    place = debian.cache() / "pyright" / PACKAGE
    with debian.alone(place.parent):
        if not place.exists():
            print(f"== {PACKAGE} is not here: fetching it into {place}", flush=True)
            with tempfile.TemporaryDirectory(dir=place.parent) as folder:
                shutil.unpack_archive(npm.fetch(PACKAGE, Path(folder)), folder, "gztar")
                Path(folder, "package").rename(place)
    return place / "index.js"


def check(project: Path) -> subprocess.CompletedProcess[str]:
    """Check what the `pyrightconfig.json` in a folder names."""
    command = [node.program(), str(program()), "--project", str(project)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
