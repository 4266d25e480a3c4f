"""Very many priorities in one line: a claim on SQLite looks at no more of them than it takes jobs."""

from pathlib import Path

from tenure.core.model.job import NewJob
from tests.storage.touched.sqlite import SqlitePast
from tests.storage.verbs import claim

JOBS = 65_000
TURNS = 12
"""Some of so many claims go by age."""


async def filled(path: Path, priorities: int) -> SqlitePast:
    """As many jobs, at few priorities or at many."""
    backend = SqlitePast(path)
    await backend.prepare()
    store = backend.store()
    await store.open()
    jobs = [NewJob(definition="mail", priority=n % priorities - priorities // 2) for n in range(JOBS)]
    for first in range(0, JOBS, 10_000):
        await store.enqueue(jobs[first : first + 10_000])
    await store.close()
    return backend


async def steps(backend: SqlitePast, limit: int) -> int:
    """What SQLite does for some claims, all from the same line."""
    async with backend.watched("as it was made") as (watched, costs):
        for _ in range(TURNS):
            assert len(await claim(watched, limit=limit)) == limit
    return sum(cost.total for name, cost in costs.items() if name.endswith("VM_STEP"))


async def test_a_line_with_65_000_priorities_costs_at_most_twice_what_one_with_ten_does(
    tmp_path: Path,
) -> None:
    """S1.67, S3.67: whether a claim goes by priority alone or by age as well."""
    few, many = await filled(tmp_path / "few.db", 10), await filled(tmp_path / "many.db", JOBS)
    ratios = {limit: await steps(many, limit) / await steps(few, limit) for limit in (1, 10, 100)}
    assert {limit: ratio for limit, ratio in ratios.items() if ratio > 2} == {}
