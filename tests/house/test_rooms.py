"""The rooms of the house: each says what it holds; a name means one thing, and the map is current."""

import ast
from collections import defaultdict

import pytest

from tools import code_map

SOURCE = code_map.SOURCE
MOST_MODULES = 24
STORES = ("storage/postgres/", "storage/sqlite/")
NOUNS = {"aging", "decoding", "gc_tuning", "otlp_encoding", "pace_sampling", "paging", "reading", "tracing"}
"""Modules that end in -ing and are called so all over the field."""


def test_no_room_is_crowded() -> None:
    assert not {name: len(modules) for name, _, modules in code_map.rooms() if len(modules) > MOST_MODULES}


def test_every_room_says_in_a_sentence_what_it_holds() -> None:
    silent = [
        name for name, sentence, _ in code_map.rooms() if not sentence.endswith(".") or "\n" in sentence
    ]
    assert not silent


def test_no_class_name_stands_for_two_things() -> None:
    """The two stores alone have twins: what is the same in both bears the same name."""
    homes: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(path.relative_to(SOURCE).as_posix())
    twice = {name: places for name, places in homes.items() if len(places) > 1 and not _are_twins(places)}
    assert not twice


def test_modules_are_nouns() -> None:
    gerunds = [path for path in SOURCE.rglob("*ing.py") if path.stem not in NOUNS]
    assert not gerunds


def test_the_code_map_is_current() -> None:
    text = code_map.PAGE.read_text()
    assert code_map.page(text) == text, "run `make states`"


@pytest.mark.parametrize("part", [part for floor in code_map.FLOORS for part in floor])
def test_every_part_is_in_the_picture(part: str) -> None:
    assert f'["{part}"]' in code_map.PAGE.read_text()
    assert (SOURCE / part.replace(".", "/")).is_dir()


def _are_twins(places: list[str]) -> bool:
    return len(places) == 2 and all(
        place.startswith(store) for place, store in zip(sorted(places), STORES, strict=True)
    )
