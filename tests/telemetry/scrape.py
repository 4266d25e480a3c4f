"""A scrape, read by Prometheus' own parser."""

from typing import NamedTuple

from prometheus_client.parser import text_string_to_metric_families

OF_THE_SYSTEM = "process_"


class Family(NamedTuple):
    """A family as a scraper sees it; a counter bears the name that its samples have."""

    kind: str
    labels: frozenset[str]
    bounds: tuple[str, ...]
    samples: dict[tuple[str, frozenset[tuple[str, str]]], float]


class Scrape:
    """Every family, by name."""

    def __init__(self, text: bytes) -> None:
        self.families: dict[str, Family] = {}
        for found in text_string_to_metric_families(text.decode()):
            if found.name.startswith(OF_THE_SYSTEM):
                continue
            name = f"{found.name}_total" if found.type == "counter" else found.name
            samples = {(one.name, frozenset(one.labels.items())): one.value for one in found.samples}
            labels = {label for one in found.samples for label in one.labels} - {"le"}
            bounds = dict.fromkeys(one.labels["le"] for one in found.samples if "le" in one.labels)
            self.families[name] = Family(found.type, frozenset(labels), tuple(bounds), samples)

    def value(self, sample: str, **labels: str) -> float:
        """One number; 0 where there is no such series."""
        return sum(
            family.samples.get((sample, frozenset(labels.items())), 0) for family in self.families.values()
        )
