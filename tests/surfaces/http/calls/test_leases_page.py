"""The page for those who write a worker shows requests that are taken, and an answer as it comes."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure.api.lease_shapes import CompleteBody, FailBody, HeartbeatBody, LeaseItem, LeaseOrder, Leases

PAGE = Path(__file__).parents[4] / "docs/how-to/workers-in-any-language.md"
SHOWN = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
REQUESTS = [text for text in SHOWN if "leases" not in text]


@pytest.mark.parametrize(
    ("body", "text"), [*zip((LeaseOrder, HeartbeatBody, CompleteBody, FailBody), REQUESTS, strict=True)]
)
def test_every_request_on_the_page_is_taken(body: Any, text: str) -> None:
    assert isinstance(msgspec.json.decode(text, type=body), body)


def test_the_answer_on_the_page_has_the_fields_of_a_claim() -> None:
    [text] = set(SHOWN) - set(REQUESTS)
    answer = msgspec.json.decode(text)
    [lease] = answer["leases"]
    assert answer.keys() == set(Leases.__struct_encode_fields__)
    assert lease.keys() - {"…"} <= set(LeaseItem.__struct_encode_fields__)
    assert lease["token"].endswith(msgspec.json.decode(REQUESTS[0])["workerId"])
