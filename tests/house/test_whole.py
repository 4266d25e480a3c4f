"""Which tests a default run leaves to `make long`: none of a store, and of a surface one of each pair."""

from pathlib import Path

import pytest

from tests import whole

ROOT = Path(__file__).parents[2]
HTTP = "tests/surfaces/http/calls/test_read.py::test_x"


@pytest.fixture(autouse=True)
def in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "IS_WHOLE", False)


def test_of_a_surface_one_of_each_pair_is_left_out() -> None:
    for case in ("", "-one", "-two", "-three"):
        pair = [f"{HTTP}[{store}{case}]" for store in whole.STORES]
        assert len(whole.not_dealt(pair)) == 1


def test_cases_of_a_test_meet_both_stores() -> None:
    for test in (HTTP, "tests/surfaces/library/test_enqueue.py::test_x"):
        pairs = [f"{test}[{store}-{case}]" for case in ("one", "two") for store in whole.STORES]
        left = whole.not_dealt(pairs)
        assert {"sqlite" in name for name in left} == {"one" in name for name in left} == {True, False}


def test_both_stores_have_their_turn() -> None:
    names = [f"{HTTP}_{n}[{store}]" for n in range(200) for store in whole.STORES]
    left = whole.not_dealt(names)
    assert 80 < sum("sqlite" in name for name in left) < 120


@pytest.mark.parametrize(
    "names",
    [
        [f"{HTTP}[postgres]"],
        [HTTP],
        [f"{HTTP}[sqlite-postgres]", f"{HTTP}[postgres-sqlite]"],
        [f"tests/storage/contract/test_get.py::test_x[{store}]" for store in whole.STORES],
        [f"tests/surfaces/library/test_enqueue.py::test_x[{store}]" for store in whole.STORES],
    ],
    ids=["one that was asked for", "one without a store", "two stores in one test", "contract", "library"],
)
def test_the_rest_is_run(names: list[str]) -> None:
    assert whole.not_dealt(names) == set()


def test_all_are_run_in_make_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole, "IS_WHOLE", True)
    assert whole.not_dealt([f"{HTTP}[{store}]" for store in whole.STORES]) == set()


def test_make_long_runs_all_that_is_left_out() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\nlong:")[2].partition("\n\n")[0]
    runs = [line for line in recipe.replace("\\\n", " ").splitlines() if "TENURE_TEST_WHOLE=1" in line]
    folders = tuple(word for line in runs for word in line.split() if word.startswith("tests/"))
    marked = [path for path in (ROOT / "tests").rglob("test_*.py") if "mark.long" in path.read_text()]
    left = {
        *whole.DEALT,
        *whole.CASES_DEALT,
        *(str(path.relative_to(ROOT)) for path in marked if path != Path(__file__)),
    }
    assert not {path for path in left if not path.startswith(folders)}
