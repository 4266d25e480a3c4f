"""Very many lines: what SQLite goes through for all of them grows as they do."""

from pathlib import Path

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.core.reports.operations import WorkerInfo
from tests.storage.touched.sqlite import SqlitePast

LINES = tuple(Line(f"q{n % 7}", f"d{n}") for n in range(10_000))


async def test_what_is_gone_through_does_not_grow_beyond_the_lines(tmp_path: Path) -> None:
    """Totals, pauses, workers and places are put together with lines, and never compared all with all."""
    backend = SqlitePast(tmp_path / "tenure.db")
    await backend.prepare()
    store = backend.store()
    await store.open()
    await store.enqueue([NewJob(queue=line.queue, definition=line.definition) for line in LINES])
    await store.enlist(WorkerInfo(id="a", host="here", pid=1, version="1", slots=1, lines=LINES))
    for line in LINES[:500]:
        await store.pause(line)
    await store.close()
    for way in backend.ways:
        async with backend.watched(way) as (watched, costs):
            assert len(await watched.lines()) == len(LINES)
            assert costs["lines: VM_STEP"].total < 1_000 * len(LINES)
    await backend.dispose()
