"""Checks the records of all jobs at once."""

from collections import defaultdict
from typing import Any

from tenure.core.model.states import FIRST, State, is_legal
from tenure.core.model.trail import is_note
from tests.storage.backends import Backend

_STRAYS = {
    "queued, but not in line": """
        SELECT s.id FROM tenure.job_state s LEFT JOIN tenure.ready r
            ON r.line = s.line AND r.rank = s.rank AND r.seq = s.seq AND r.job = s.id
         WHERE s.state = 'queued' AND r.job IS NULL""",
    "waits for the clock, but has no timer": """
        SELECT s.id FROM tenure.job_state s LEFT JOIN tenure.timer t
            ON t.job = s.id AND (t.due_at = s.due_at OR s.due_at IS NULL AND t.kind = 'wait')
         WHERE s.state IN ('scheduled', 'retrying', 'suspended') AND t.job IS NULL""",
    "suspended, though it was told what it waits for": """
        SELECT s.id FROM tenure.job_state s JOIN tenure.wait w ON w.job = s.id AND w.fence = s.fence
          JOIN tenure.signal g ON g.job = s.id AND g.name = w.signal
         WHERE s.state = 'suspended'""",
    "suspended, but waits for no effect in doubt": """
        SELECT s.id FROM tenure.job_state s JOIN tenure.wait w ON w.job = s.id AND w.fence = s.fence
         WHERE s.state = 'suspended' AND w.kind = 'answer'
           AND NOT EXISTS (SELECT 1 FROM tenure.step p
                            WHERE p.job = s.id AND p.name = w.step AND p.status = 'intended')""",
    "owned, but under no lease": """
        SELECT s.id FROM tenure.job_state s LEFT JOIN tenure.lease l ON l.id = s.lease
         WHERE s.state IN ('running', 'cancelling') AND l.id IS NULL""",
    "owned by nobody, but under a lease": """
        SELECT s.id FROM tenure.job_state s
         WHERE s.state NOT IN ('running', 'cancelling') AND s.lease IS NOT NULL""",
    "on record, but in no state": """
        SELECT j.id FROM tenure.job j LEFT JOIN tenure.job_state s ON s.id = j.id WHERE s.id IS NULL""",
    "in a state, but not on record": """
        SELECT s.id FROM tenure.job_state s LEFT JOIN tenure.job j ON j.id = s.id WHERE j.id IS NULL""",
    "dead, but nobody knows of what": """
        SELECT job FROM tenure.finished WHERE (state IN ('failed', 'buried')) <> (fingerprint IS NOT NULL)""",
    **{
        f"gone, but for what {table} holds": f"""
        SELECT t.job FROM tenure.{table} t LEFT JOIN tenure.job_state s ON s.id = t.job WHERE s.id IS NULL"""
        for table in (
            *("event", "attempt", "result", "tag", "finished", "timer"),
            *("step", "kept", "checkpoint", "wait", "signal"),
        )
    },
}
_MISCOUNTED = """
    SELECT line, state, sum(n) FROM (SELECT line, state, n FROM tenure.tally
                                      UNION ALL
                                     SELECT line, state, -1 FROM tenure.job_state) each_one
     WHERE line <> 0 GROUP BY line, state HAVING sum(n) <> 0"""

_MISPLACED = {
    "postgres": """
        SELECT limited, n FROM (
            SELECT unnest(line.limits) AS limited, unnest(string_to_array(s.slots, ' ')::smallint[]) AS n,
                   1 AS jobs
              FROM tenure.job_state s JOIN tenure.line ON line.id = s.line
             WHERE s.state IN ('running', 'cancelling') AND line.limits <> '{}'
             UNION ALL
            SELECT limited, n, -1 FROM tenure.slot WHERE is_held) each_one
         GROUP BY limited, n HAVING sum(jobs) <> 0
         UNION ALL
        SELECT line, NULL FROM tenure.job_state
         WHERE state NOT IN ('running', 'cancelling') AND slots IS NOT NULL""",
    "sqlite": """
        SELECT limited.id, held FROM tenure.limited AS limited
         WHERE held <> (SELECT count(*) FROM tenure.job_state s
                          JOIN tenure.line AS line ON line.id = s.line, json_each(line.limits) part
                         WHERE s.state IN ('running', 'cancelling') AND part.value = limited.id)""",
}


async def faults(backend: Backend) -> list[str]:
    """The faults of any job, of the totals, or of the slots held under limits.

    A history with a gap or an illegal step, a job that no verb will find, or one with rows missing.
    """
    steps: dict[str, list[tuple[int, State, State, str]]] = defaultdict(list)
    for job, n, source, target, kind in await backend.sql(
        "SELECT job, n, source, target, type FROM tenure.event ORDER BY job, n"
    ):
        steps[str(job)].append((n, State(source), State(target), kind))
    found = [
        f"{job}: {state} after {steps[str(job)]}"
        for job, state, n in await backend.sql("SELECT id, state, n FROM tenure.job_state")
        if not _is_whole(steps[str(job)], State(state), n)
    ]
    for wrong, text in _STRAYS.items():
        found += [f"{job}: {wrong}" for (job,) in await backend.sql(text)]
    found += [f"{n} too many {state} in line {line}" for line, state, n in await backend.sql(_MISCOUNTED)]
    misplaced = await backend.sql(_MISPLACED[backend.kind])
    found += [f"slot {n} of limit {limited} is not held by one job" for limited, n in misplaced]
    return found


def _is_whole(steps: list[tuple[int, State, State, str]], state: State, n: int) -> bool:
    """Whether events lead from a first state to where the job is, numbered from two, with at most one end.

    The first event of a job is its creation, which has no row of its own.
    """
    path = [source for _, source, _, _ in steps] + [state]
    numbers: list[Any] = [number for number, _, _, _ in steps]
    return (
        path[0] in FIRST
        and all(following == target for following, (_, _, target, _) in zip(path[1:], steps, strict=True))
        and all(
            is_legal(source, target) or (source is target and is_note(kind))
            for _, source, target, kind in steps
        )
        and numbers == list(range(2, n + 1))
        and sum(passed.is_final for passed in path) <= 1
    )
