"""Keys as text and as values: what may be one, and what each scope includes."""

import pytest

from tenure.core.errors import InvalidInput
from tenure.core.reports.access import INCLUDED, SCOPES, AuditEntry, NewKey, opened_by
from tenure.core.values import key_text


def new_key(**given: object) -> NewKey:
    usual: dict[str, object] = {"id": "k1", "digest": b"", "name": "n", "scopes": ("submit",)}
    return NewKey(**{**usual, **given})  # type: ignore[arg-type]


def test_a_key_reads_back_as_what_was_made_and_no_two_are_alike() -> None:
    made = [key_text.mint() for _ in range(100)]
    for minted in made:
        assert key_text.read(minted.text) == (minted.id, minted.digest)
        assert key_text.PATTERN.fullmatch(minted.text)
        assert minted.text not in repr(minted.digest)
    assert len({minted.id for minted in made}) == len({minted.digest for minted in made}) == 100


def test_a_mistyped_key_is_none() -> None:
    text = key_text.mint().text
    for place in range(len(text)):
        other = "x" if text[place] != "x" else "y"
        assert key_text.read(text[:place] + other + text[place + 1 :]) is None, place
    for wrong in ("", "tnr_", text[:-1], text + "0", text.upper(), f" {text}", text + "\n"):
        assert key_text.read(wrong) is None, wrong


def test_scopes_include_what_the_reference_says() -> None:
    assert opened_by(["submit"]) == {"submit"}
    assert opened_by(["read", "work"]) == {"read", "work"}
    assert opened_by(["operate"]) == {"operate", "read", "submit"}
    assert opened_by(["admin"]) == set(SCOPES)
    assert set(INCLUDED) <= set(SCOPES)


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("scope", {"scopes": ()}),
        ("scope", {"scopes": ("root",)}),
        ("scope", {"scopes": ("read", "read")}),
        ("name", {"name": ""}),
        ("name", {"name": "a\nb"}),
        ("definition", {"definitions": ("a b",)}),
        ("definition", {"definitions": ("mail",), "scopes": ("submit", "read")}),
        ("queue", {"queues": ("q",)}),
        ("namespace", {"namespace": ""}),
    ],
)
def test_what_cannot_be_a_key_is_refused_by_its_field(field: str, given: dict[str, object]) -> None:
    with pytest.raises(InvalidInput) as refused:
        new_key(**given)
    assert refused.value.field == field


def test_an_audit_entry_is_done_by_somebody() -> None:
    from uuid import uuid4

    with pytest.raises(InvalidInput, match="who"):
        AuditEntry(who="", action="a", target="", request=uuid4())
