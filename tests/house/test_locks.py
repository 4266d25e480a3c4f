"""The locks hold everything that the project declares, and name no registry."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LOCKS = {"requirements.lock": ("postgres", "fast"), "requirements-dev.lock": ("dev",)}

_ENTRY = r"^([a-z0-9][a-z0-9.-]*)(?:\[[a-z0-9,-]+\])?==(\S+)"
"""A package, with or without extras, and its version."""


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_satisfies_every_declared_dependency(name: str) -> None:
    locked = _locked(name)
    for requirement in _declared(*LOCKS[name]):
        version = locked.get(canonicalize_name(requirement.name))
        assert version, f"{requirement.name} is not in {name}: run `make lock`"
        assert requirement.specifier.contains(version, prereleases=True), f"{name}: run `make lock`"


@pytest.mark.parametrize("name", LOCKS)
def test_nothing_leans_on_somebody_elses_workflow_engine(name: str) -> None:
    """S1.9: neither Temporal's SDK nor Vercel's is among what is installed."""
    assert not [package for package in _locked(name) if re.search("temporal|vercel|workflow", package)]


def test_both_locks_agree() -> None:
    assert _locked("requirements.lock").items() <= _locked("requirements-dev.lock").items()


@pytest.mark.parametrize("name", LOCKS)
def test_every_locked_version_has_a_hash(name: str) -> None:
    text = (ROOT / name).read_text()
    entries = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)[1:]
    # A package may stand there in two versions, for different versions of Python.
    assert len(entries) == len(re.findall(_ENTRY, text, flags=re.MULTILINE))
    assert not [entry.split()[0] for entry in entries if "--hash=sha256:" not in entry]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_names_no_registry(name: str) -> None:
    text = (ROOT / name).read_text()
    assert "://" not in text
    assert "index-url" not in text
    assert "find-links" not in text


def _locked(name: str) -> dict[str, str]:
    return dict(re.findall(_ENTRY, (ROOT / name).read_text(), flags=re.MULTILINE))


def _declared(*extras: str) -> list[Requirement]:
    texts = [
        *PROJECT["dependencies"],
        *(text for extra in extras for text in PROJECT["optional-dependencies"][extra]),
    ]
    declared = []
    for requirement in map(Requirement, texts):
        if requirement.name == PROJECT["name"]:
            declared += _declared(*requirement.extras)
        else:
            declared.append(requirement)
    return declared
