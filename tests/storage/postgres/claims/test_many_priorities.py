"""Very many priorities in one line: a look-up on PostgreSQL passes through those in front and few others."""

import json

import asyncpg

from tenure.storage.mapping.aging import FURTHER
from tenure.storage.postgres.claims.line_scan import FRONT, MOST_REACHED
from tenure.storage.schema import statements
from tests.storage.backends import PostgresBackend
from tests.storage.postgres.claims.test_line_scan import found, look_up, looked_up, offered
from tests.storage.postgres.claims.test_offers import claim

LOOK = statements.numbered(statements.load("tenure.storage.postgres")["settle_and_claim.places"])
JOBS = 65_000
BACKLOG = f"""
    INSERT INTO tenure.line (queue, definition, version) VALUES ('default', 'few', 1), ('default', 'many', 1);
    INSERT INTO tenure.job_state (id, line, rank, max_attempts, state, n, seq, updated_at, queued_at)
    SELECT gen_random_uuid(), line.id, i % priorities - priorities / 2, 3, 'queued', 1, i, now(), now()
      FROM tenure.line
      JOIN (VALUES ('few', 10), ('many', {JOBS})) AS wanted (definition, priorities) USING (definition)
     CROSS JOIN generate_series(1, {JOBS}) i;
    INSERT INTO tenure.ready (line, rank, seq, job) SELECT line, rank, seq, id FROM tenure.job_state;
"""


async def pages(connection: asyncpg.Connection, definition: str, walked: dict[int, int]) -> tuple[int, int]:
    """How many pages a look-up touches, and how many places it finds."""
    given = {"after_line": 0, "most": MOST_REACHED, "front": FRONT, "further": FURTHER}
    line = {"queues": ["default"], "definitions": [definition], "versions": [1]}
    walks = {"walked_lines": list(walked), "walked_ranks": list(walked.values())}
    values = [(given | line | walks)[name] for name in LOOK.names]
    await connection.fetch(LOOK.text, *values)  # pages that a connection reads only once do not count
    asked = f"EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {LOOK.text}"
    plan = json.loads(await connection.fetchval(asked, *values))[0]["Plan"]
    # The last row is about limits.
    return plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], plan["Actual Rows"] - 1


async def test_a_line_with_65_000_priorities_costs_at_most_twice_what_one_with_ten_does(
    backend: PostgresBackend,
) -> None:
    """S1.67, S3.67: as many jobs, and the first look as well as one that goes on behind another."""
    connection = await asyncpg.connect(backend.dsn)
    await connection.execute(BACKLOG)
    await connection.execute("VACUUM ANALYZE tenure.ready, tenure.job_state, tenure.line")
    few, first, further = [
        await pages(connection, *asked) for asked in (("few", {}), ("many", {}), ("many", {2: 20_000}))
    ]
    await connection.close()
    assert [places for _, places in (few, first, further)] == [10, FRONT + FURTHER, FRONT + FURTHER]
    assert max(first[0], further[0]) <= 2 * few[0]


def walk(front: range, further: range) -> list[object]:
    """The rows of a look-up: priorities in front, then others."""
    return [found(1, rank, n=n, waited=2) for n, rank in enumerate([*front, *further], start=1)]


def test_a_walk_goes_on_where_the_last_one_ended() -> None:
    """Until it has come to the end of the line; then it begins behind the front."""
    places = looked_up(*walk(range(FRONT), range(FRONT, FRONT + FURTHER)))
    assert places.walked_to == {1: FRONT + FURTHER - 1}
    look_up(places, *walk(range(FRONT), range(500, 500 + FURTHER - 1)))
    assert places.walked_to == {}
    assert places.is_cut
    look_up(places, *walk(range(FRONT), range(FRONT, FRONT + 1)))
    assert not places.is_cut


def test_nobody_goes_before_jobs_that_were_not_looked_at() -> None:
    """Neither less urgent jobs of the same line, unless they are old enough, nor those of others."""
    places = looked_up(
        *walk(range(FRONT), range(500, 500 + FURTHER)), found(2, 5), found(3, 400), found(4, 400, waited=399)
    )
    orders = [offered(places) for _ in range(5)]
    assert {tuple(order) for order in map(sorted, orders)} == {(1,) * FRONT + (2,), (1,) * FRONT + (2, 4)}


def test_a_long_line_without_room_is_passed_over() -> None:
    long = [found(1, rank, n=n, limits=(7,)) for n, rank in enumerate(range(FRONT + FURTHER), start=1)]
    places = looked_up(*long, found(2, 400))
    assert claim(places, {}) == [2]
