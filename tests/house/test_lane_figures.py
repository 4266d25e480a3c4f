"""What the table of lanes says of warm processes is what is in force."""

from datetime import timedelta
from pathlib import Path

from tenure.execution.parent.runner_lanes import MOST_JOBS, OLDEST

PAGE = Path(__file__).parents[2] / "docs/how-to/lanes.md"


def test_the_page_names_when_a_warm_process_is_replaced() -> None:
    assert (1_000, timedelta(hours=1)) == (MOST_JOBS, OLDEST)
    assert "A warm process is replaced after 1,000 jobs, after an hour" in PAGE.read_text()
