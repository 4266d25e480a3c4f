"""The page for those who write a worker shows requests that are taken, and an answer as it comes."""

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tenure.api.lease_progress_shapes import FoundProgress, FoundStep, StepBody, SuspendBody
from tenure.api.lease_shapes import CompleteBody, FailBody, HeartbeatBody, LeaseItem, LeaseOrder, Leases

PAGE = Path(__file__).parents[4] / "docs/how-to/workers-in-any-language.md"
SHOWN = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
ANSWERS = [text for text in SHOWN if '…": "…' in text]
REQUESTS = [text for text in SHOWN if text not in ANSWERS]
BODIES = (LeaseOrder, HeartbeatBody, StepBody, SuspendBody, SuspendBody, CompleteBody, FailBody)


@pytest.mark.parametrize(("body", "text"), [*zip(BODIES, REQUESTS, strict=True)])
def test_every_request_on_the_page_is_taken(body: Any, text: str) -> None:
    assert isinstance(msgspec.json.decode(text, type=body), body)


def test_the_answer_on_the_page_has_the_fields_of_a_claim() -> None:
    answer = msgspec.json.decode(ANSWERS[0])
    [lease] = answer["leases"]
    assert answer.keys() == set(Leases.__struct_encode_fields__)
    assert lease.keys() - {"…"} <= set(LeaseItem.__struct_encode_fields__)
    assert lease["token"].endswith(msgspec.json.decode(REQUESTS[0])["workerId"])


def test_the_answer_on_the_page_has_the_fields_of_what_is_kept() -> None:
    answer = msgspec.json.decode(ANSWERS[1])
    [step] = answer["steps"]
    assert answer.keys() == set(FoundProgress.__struct_encode_fields__)
    assert step.keys() - {"…"} <= set(FoundStep.__struct_encode_fields__)
