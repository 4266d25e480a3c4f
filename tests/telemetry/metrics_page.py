"""The families on the page of metrics, by registry."""

import re
from pathlib import Path
from typing import NamedTuple

from tests.telemetry.scrape import Scrape

PAGE = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()
OF_WORKERS, _, OF_THE_API = PAGE.partition("## The API's")

_ROW = re.compile(r"^\| `(\w+)` \| (counter|gauge|histogram) \| (.*?) ?\|", re.MULTILINE)


class Described(NamedTuple):
    """A family on the page."""

    kind: str
    labels: frozenset[str]


def described(part: str) -> dict[str, Described]:
    """The families of a part of the page."""
    return {
        name: Described(kind, frozenset(re.findall(r"`(\w+)`", labels)))
        for name, kind, labels in _ROW.findall(part)
    }


def check_whole(scrape: Scrape, part: str) -> None:
    """Compare a scrape with the page: every family, its type and, once it has counted, its labels."""
    listed = described(part)
    assert scrape.families.keys() == listed.keys()
    for name, family in scrape.families.items():
        assert family.kind == listed[name].kind, name
        assert not family.samples or family.labels == listed[name].labels, name
