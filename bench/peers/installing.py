"""Installs rivals: each in an environment of its own in one folder, in the versions that are pinned.

The folder is TENURE_BENCH_PEERS, else `tenure-bench` where the user's caches are. What lies there and fits
the pins is not installed again.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from bench.peers import PeerUnavailable
from bench.peers.catalogue import NODE
from bench.peers.redis_server import fetch

VARIABLE = "TENURE_BENCH_PEERS"
PINS = Path(__file__).parent / "pins"
INSTALL_SECONDS = 300
NEWER = {"oban": (3, 12)}
"""What needs a newer Python than the product's own oldest."""

_DONE = "installed"


def folder() -> Path:
    """Where everything is installed."""
    caches = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(VARIABLE) or Path(caches) / "tenure-bench")


def environments() -> list[str]:
    """The names of all environments."""
    return [*sorted(path.stem for path in PINS.glob("*.txt")), NODE]


def install(name: str) -> None:
    """Install what an environment needs, unless it is there; raises PeerUnavailable."""
    place, pins = folder() / name, _pins(name)
    if _is_installed(name):
        return
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    if name == NODE:
        shutil.copy(pins, place)
        _run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts"], place, name)
    else:
        # With our own pip for all of them: to put one into each would take longer than most rivals do.
        python, has_pip = _python(NEWER.get(name)), find_spec("pip") is not None
        _run([python, "-m", "venv", *(["--without-pip"] if has_pip else []), "."], place, name)
        pip = [sys.executable, "-m", "pip", "--python", "bin/python"] if has_pip else ["bin/pip"]
        _run([*pip, "install", "--quiet", "--requirement", str(pins)], place, name)
    (place / _DONE).write_bytes(pins.read_bytes())


def install_redis() -> None:
    """Fetch Redis, unless the system has it or it was fetched before; raises PeerUnavailable."""
    fetch(folder() / "redis")


def programs(name: str) -> Path:
    """The folder of an environment's programs; raises PeerUnavailable where it was not set up."""
    if not _is_installed(name):
        raise PeerUnavailable(f"{name} is not set up here: run `python -m bench.rivals --setup`")
    return folder() / name / "bin"


def node() -> Path:
    """The Node that was installed with the products that need it; raises PeerUnavailable."""
    modules = programs(NODE).parent / "node_modules"
    machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    found = modules / f"node-linux-{machine}/bin/node"
    if not found.exists():
        raise PeerUnavailable(f"there is no Node for this machine among the packages: {machine}")
    return found


def version(script: str, package: str) -> str:
    """The version of a package that is pinned; empty where it is not."""
    for line in _pins(script).read_text().splitlines():
        name, _, said = line.strip().rstrip(",").replace('": "', "==").replace('"', "").partition("==")
        if name.lower() == package:
            return said
    return ""


def _pins(name: str) -> Path:
    return PINS / ("package.json" if name == NODE else f"{name}.txt")


def _is_installed(name: str) -> bool:
    done = folder() / name / _DONE
    return done.exists() and done.read_bytes() == _pins(name).read_bytes()


def _python(oldest: tuple[int, ...] | None) -> str:
    """An interpreter that is new enough: this one, one on PATH, or one of pyenv's."""
    if oldest is None or sys.version_info >= oldest:
        return sys.executable
    for candidate in _newer(oldest):
        check = f"import sys; sys.exit(sys.version_info < {oldest})"
        # One of pyenv's that nobody has chosen is on PATH and does not run.
        if subprocess.run([candidate, "-c", check], capture_output=True, check=False).returncode == 0:
            return candidate
    raise PeerUnavailable(f"there is no Python {'.'.join(map(str, oldest))} or newer")


def _newer(oldest: tuple[int, ...]) -> Iterator[str]:
    major, minor = oldest
    for each in range(minor, minor + 3):
        if found := shutil.which(f"python{major}.{each}"):
            yield found
    versions = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    yield from sorted(str(path) for path in versions.glob(f"{major}.*/bin/python3"))


def _run(command: Sequence[str], place: Path, name: str) -> None:
    try:
        subprocess.run(command, cwd=place, check=True, capture_output=True, timeout=INSTALL_SECONDS)
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip().splitlines()[-1:]
        raise PeerUnavailable(f"{name} could not be installed: {' '.join(said)}") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise PeerUnavailable(f"{name} could not be installed: {error}") from None
