"""Families count, have an end, and are written as Prometheus reads them."""

from tenure.telemetry.metrics.exposition import expose
from tenure.telemetry.metrics.instruments import MOST_SERIES, OTHER, Counter, Gauge, Histogram, Names
from tests.telemetry.scrape import Scrape


def test_a_histogram_counts_a_value_at_its_bound_and_adds_up() -> None:
    sizes = Histogram("sizes", "Some.", "kind", bounds=(1, 2.5))
    for value in (0.5, 1, 2, 3):
        sizes.observe(("a",), value)
    scrape = Scrape(expose([sizes.snapshot()]))
    assert scrape.families["sizes"].bounds == ("1.0", "2.5", "+Inf")
    assert [scrape.value("sizes_bucket", kind="a", le=end) for end in ("1.0", "2.5", "+Inf")] == [2, 3, 4]
    assert scrape.value("sizes_sum", kind="a") == 6.5
    assert scrape.value("sizes_count", kind="a") == 4


def test_no_family_grows_without_bound() -> None:
    """What is too much is still counted."""
    counter, gauge = Counter("c_total", "Some.", "a", "b"), Gauge("g", "Some.", "a")
    histogram = Histogram("h", "Some.", "a", bounds=(1,))
    most = MOST_SERIES + 50
    for n in range(most):
        counter.add((str(n), "x"))
        histogram.observe((str(n),), n)
    gauge.set({(str(n),): 1 for n in range(most)})
    for family in (counter, gauge, histogram):
        assert len(family.snapshot().series) == MOST_SERIES + 1
    scrape = Scrape(expose([counter.snapshot(), gauge.snapshot(), histogram.snapshot()]))
    assert scrape.value("c_total", a=OTHER, b=OTHER) == 50
    assert scrape.value("g", a=OTHER) == 50
    assert scrape.value("h_count", a=OTHER) == 50


def test_names_beyond_the_first_ones_are_one() -> None:
    names = Names(2)
    assert [names.of(name) for name in ("a", "b", "c", "a", "d")] == ["a", "b", OTHER, "a", OTHER]


def test_whatever_a_label_holds_can_be_read() -> None:
    counter = Counter("c_total", "With \\ and\nmore.", "a")
    odd = 'quote " backslash \\ line\nend é'
    counter.add((odd,), 2.5)
    counter.add(("x" * 10_000,))
    scrape = Scrape(expose([counter.snapshot()]))
    assert scrape.value("c_total", a=odd) == 2.5
    assert scrape.value("c_total", a="x" * 200) == 1


def test_what_counts_nothing_yet_is_told_of() -> None:
    scrape = Scrape(
        expose([Counter("c_total", "Some.").snapshot(), Counter("d_total", "Some.", "a").snapshot()])
    )
    assert scrape.value("c_total") == 0
    assert scrape.families.keys() == {"c_total", "d_total"}
