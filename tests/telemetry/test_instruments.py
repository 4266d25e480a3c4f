"""Families count, have an end, and are written as Prometheus reads them."""

from tenure.telemetry.exposition import exposed
from tenure.telemetry.instruments import MOST_SERIES, OTHER, Counter, Gauge, Histogram, Names
from tests.telemetry.scraping import Scrape


def test_a_histogram_counts_a_value_at_its_bound_and_adds_up() -> None:
    sizes = Histogram("sizes", "Some.", "kind", bounds=(1, 2.5))
    for value in (0.5, 1, 2, 3):
        sizes.observe(("a",), value)
    told = Scrape(exposed([sizes.taken()]))
    assert told.families["sizes"].bounds == ("1.0", "2.5", "+Inf")
    assert [told.value("sizes_bucket", kind="a", le=end) for end in ("1.0", "2.5", "+Inf")] == [2, 3, 4]
    assert told.value("sizes_sum", kind="a") == 6.5
    assert told.value("sizes_count", kind="a") == 4


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
        assert len(family.taken().series) == MOST_SERIES + 1
    told = Scrape(exposed([counter.taken(), gauge.taken(), histogram.taken()]))
    assert told.value("c_total", a=OTHER, b=OTHER) == 50
    assert told.value("g", a=OTHER) == 50
    assert told.value("h_count", a=OTHER) == 50


def test_names_beyond_the_first_ones_are_one() -> None:
    names = Names(2)
    assert [names.of(name) for name in ("a", "b", "c", "a", "d")] == ["a", "b", OTHER, "a", OTHER]


def test_whatever_a_label_holds_can_be_read() -> None:
    counter = Counter("c_total", "With \\ and\nmore.", "a")
    odd = 'quote " backslash \\ line\nend é'
    counter.add((odd,), 2.5)
    counter.add(("x" * 10_000,))
    told = Scrape(exposed([counter.taken()]))
    assert told.value("c_total", a=odd) == 2.5
    assert told.value("c_total", a="x" * 200) == 1


def test_what_counts_nothing_yet_is_told_of() -> None:
    told = Scrape(exposed([Counter("c_total", "Some.").taken(), Counter("d_total", "Some.", "a").taken()]))
    assert told.value("c_total") == 0
    assert told.families.keys() == {"c_total", "d_total"}
