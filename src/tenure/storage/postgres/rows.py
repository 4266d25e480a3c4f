"""Values as the columns that PostgreSQL's statements unnest, and the rows of a turn."""

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from itertools import takewhile
from operator import attrgetter, itemgetter
from typing import Any
from uuid import UUID

from asyncpg import Record

from tenure.core.model.durable import StepDraft, Suspension
from tenure.core.model.job import NewJob
from tenure.core.model.lease import Lease, Line
from tenure.core.model.limit import Limit
from tenure.core.model.policy import Policy
from tenure.core.model.trail import LogLine
from tenure.core.values.documents import Document
from tenure.core.values.text import storable
from tenure.storage.mapping.job_rows import binding, millis, written_limits, written_names
from tenure.storage.mapping.trails import TrailRows, written_notes
from tenure.storage.mapping.turn_rows import CLAIM_COLUMNS, ReportRow, usage_columns
from tenure.storage.postgres.claims.hints import Place
from tenure.storage.postgres.claims.offers import Offer

CLAIM = slice(CLAIM_COLUMNS)
"""The columns of a claimed row that describe the job."""

_PLACE = slice(CLAIM_COLUMNS, CLAIM_COLUMNS + 2)
_but_params = attrgetter(*(name for name in NewJob.__struct_fields__ if name != "params"))
_place_in_line = itemgetter(CLAIM_COLUMNS + 1, CLAIM_COLUMNS + 2)
# JSON text never contains it, and the driver sends one text in a fraction of the time of a list.
_BETWEEN = "\x1e"
_POLICY = ("max_attempts", "on_lost", "timeouts", "graces", "bases", "caps", "retry_on", "fatal_on")
_POLICY_ALONE = ("max_attempts", "on_lost", "timeout", "grace", "base", "cap", "retry_on", "fatal_on")


def new_jobs(
    jobs: Sequence[NewJob], ids: Sequence[UUID], lines: Sequence[int], patience: str | None
) -> dict[str, Any]:
    """New jobs, and how long to wait for a transaction that holds one of their keys; None: the usual time."""
    return {
        "patience": patience,
        "ids": list(ids),
        "lines": list(lines),
        "queues": [job.queue for job in jobs],
        "definitions": [job.definition for job in jobs],
        "versions": [job.version for job in jobs],
        "priorities": [job.priority for job in jobs],
        "namespaces": [job.namespace for job in jobs],
        "scopes": [job.scope for job in jobs],
        "keys": _if_any([job.key for job in jobs]),
        "params": [job.params for job in jobs],
        "hashes": _if_any([binding(job) for job in jobs]),
        "run_ats": _if_any([job.run_at for job in jobs]),
        "delays": _if_any([job.delay for job in jobs]),
        "holds": [job.hold for job in jobs],
        **_policies([job.policy for job in jobs]),
        "parents": _if_any([job.parent for job in jobs]),
        "replays_of": _if_any([job.replay_of for job in jobs]),
        "traceparents": _if_any([job.traceparent for job in jobs]),
        "tags": _if_any([written_names(job.tags) if job.tags else None for job in jobs]),
        "limits": _if_any([written_limits(job.namespaced_limits) if job.limits else None for job in jobs]),
        "creators": _if_any([job.creator for job in jobs]),
    }


@lru_cache(maxsize=64)
def _alone(policy: Policy) -> dict[str, Any]:
    return dict(zip(_POLICY_ALONE, _policy(policy), strict=True))


def _policies(given: Sequence[Policy]) -> dict[str, list[Any]]:
    """Policies, column by column; each is encoded once, since most jobs share a few."""
    known = {id(policy): policy for policy in given}
    written = {number: _policy(policy) for number, policy in known.items()}
    rows = [written[id(policy)] for policy in given]
    return {name: _if_any([row[place] for row in rows]) for place, name in enumerate(_POLICY)}


def _policy(policy: Policy) -> tuple[Any, ...]:
    retry = policy.retry
    return (
        policy.max_attempts,
        policy.on_lost,
        *map(millis, (policy.timeout, policy.grace, retry.base, retry.cap)),
        written_names(retry.retry_on),
        written_names(retry.fatal_on),
    )


def is_plain(job: NewJob) -> bool:
    """Whether `new_job` covers every field that this job uses."""
    return not (job.tags or job.limits or job.hold or job.run_at or job.delay is not None)


def are_alike(jobs: Sequence[NewJob]) -> bool:
    """Whether `new_jobs_alike` covers these jobs: they differ only in their params."""
    first = jobs[0]
    if len(jobs) == 1 or first.key is not None or first.id is not None or not is_plain(first):
        return False
    shared = _but_params(first)
    return all(job is first or _but_params(job) == shared for job in jobs)


def new_jobs_alike(jobs: Sequence[NewJob], ids: Sequence[UUID], line: int) -> dict[str, Any]:
    """New jobs that differ only in their params; their ids must ascend."""
    params = _BETWEEN.join([job.params for job in jobs])
    return {**new_job(jobs[0], ids[0], line, ""), "ids": ids, "params": params}


def new_job(job: NewJob, given_id: UUID, line: int, patience: str, hint: str | None = None) -> dict[str, Any]:
    """One plain new job, and how the hint begins that goes along with its commit, if any."""
    return {
        "patience": patience,
        "hint": hint,
        "id": given_id,
        "line": line,
        "queue": job.queue,
        "definition": job.definition,
        "version": job.version,
        "priority": job.priority,
        "namespace": job.namespace,
        "scope": job.scope,
        "key": job.key,
        "params": job.params,
        "hash": binding(job),
        **_alone(job.policy),
        "parent": job.parent,
        "replay_of": job.replay_of,
        "traceparent": job.traceparent,
        "creator": job.creator,
    }


def keys_of(jobs: Sequence[NewJob], ids: Sequence[UUID]) -> dict[str, list[Any]]:
    """What finds the jobs that have the keys and ids of new jobs, and compares them."""
    return {
        "ids": list(ids),
        "definitions": [job.definition for job in jobs],
        "versions": [job.version for job in jobs],
        "namespaces": [job.namespace for job in jobs],
        "scopes": [job.scope for job in jobs],
        "keys": [job.key for job in jobs],
        "params": [job.params for job in jobs],
        "hashes": [binding(job) for job in jobs],
    }


def lines(named: Collection[Line]) -> dict[str, list[Any]]:
    """Lines by their names."""
    return {
        "queues": [line.queue for line in named],
        "definitions": [line.definition for line in named],
        "versions": [line.version for line in named],
    }


def limits(named: Iterable[Limit]) -> dict[str, list[Any]]:
    """Limits with their keys and sizes."""
    wanted = list(named)
    return {
        "names": [limit.name for limit in wanted],
        "keys": [limit.key for limit in wanted],
        "sizes": [limit.size for limit in wanted],
    }


def leases(held: Collection[Lease]) -> dict[str, list[Any]]:
    """Leases, one by one, and the lease rows they share."""
    fences = [lease.fence for lease in held]
    return {"jobs": [lease.job for lease in held], "fences": fences, "held": sorted(set(fences))}


def reports(given: Sequence[ReportRow]) -> dict[str, list[Any]]:
    """Reports on attempts."""
    return {
        **leases([report.lease for report in given]),
        "endings": [report.ending for report in given],
        "results": [report.result for report in given],
        "errors": _if_any([report.error for report in given]),
        "afters": _if_any([report.after for report in given]),
        **_usages(given),
    }


def kept(given: Collection[tuple[Lease, StepDraft | Document]]) -> dict[str, list[Any]]:
    """Steps, or checkpoints, of attempts."""
    steps = [step for _, step in given if isinstance(step, StepDraft)]
    columns = leases([lease for lease, _ in given])
    if not steps:
        return {**columns, "bodies": [body for _, body in given]}
    return {
        **columns,
        "names": [step.name for step in steps],
        "kinds": [step.kind.value for step in steps],
        "statuses": [step.status.value for step in steps],
        "calls": [step.call for step in steps],
        "bodies": [step.body for step in steps],
    }


def suspensions(given: Sequence[Suspension]) -> dict[str, list[Any]]:
    """Suspensions, and what their attempts used."""
    used = _usages(given)
    return {
        **leases([one.lease for one in given]),
        "kinds": [one.wait.kind.value for one in given],
        "steps": [one.wait.step for one in given],
        "timeouts": [one.wait.timeout for one in given],
        **used,
        "signals": [one.wait.signal for one in given],
        "exit_signals": used["signals"],
    }


def _if_any(column: list[Any]) -> list[Any]:
    """The column, or an empty one if it holds no value: `unnest` pads short arrays with NULL."""
    return [] if column.count(None) == len(column) else column


def _usages(given: Sequence[ReportRow] | Sequence[Suspension]) -> dict[str, list[int | None]]:
    """What attempts used; a column that no report says anything in is empty."""
    names = ("cpu_ms", "peak_bytes", "exit_codes", "signals")
    if not given:
        return {name: [] for name in names}
    known = {id(report.usage): report.usage for report in given}  # that of attempts nobody measured is shared
    written = {number: usage_columns(usage) for number, usage in known.items()}
    columns = zip(*[written[id(report.usage)] for report in given], strict=True)
    return {name: _if_any(list(column)) for name, column in zip(names, columns, strict=True)}


def trails(given: Sequence[TrailRows]) -> dict[str, list[Any]]:
    """The trails of attempts: notes by lease, lines one by one."""
    lines = [(one.lease, line) for one in given for line in one.lines.values()]
    return {
        **leases([one.lease for one in given]),
        "notes": [written_notes(one.notes) for one in given],
        "line_jobs": [lease.job for lease, _ in lines],
        "line_fences": [lease.fence for lease, _ in lines],
        "ns": [line.n for _, line in lines],
        **written_lines([line for _, line in lines]),
    }


def written_lines(lines: Sequence[LogLine]) -> dict[str, list[Any]]:
    """Log lines without their numbers."""
    return {
        "ats": [line.at for line in lines],
        "levels": [line.level for line in lines],
        "texts": [storable(line.text) for line in lines],
        "fields": [line.fields for line in lines],
    }


def split_turn(answer: Sequence[Record]) -> tuple[list[Record], list[Record]]:
    """Split the rows of a turn: groups of settled jobs, and claimed jobs in the order of serving."""
    groups = list(takewhile(_is_group, answer))
    return groups, sorted(answer[len(groups) :], key=_place_in_line)


def group_by_place(taken: Iterable[Record]) -> dict[Place, list[Record]]:
    """Group the claimed jobs by place, in order."""
    found: dict[Place, list[Record]] = {}
    for row in taken:
        found.setdefault(row[_PLACE], []).append(row)
    return found


def _is_group(row: Record) -> bool:
    return row[0] is None


def offers(given: Sequence[Offer]) -> dict[str, list[Any]]:
    """Places to claim from, and the limits of their jobs."""
    return {
        "lines": [offer.place[0] for offer in given],
        "ranks": [offer.place[1] for offer in given],
        "after_seqs": [offer.after for offer in given],
        "limits": sorted({limit for offer in given for limit in offer.limits}),
    }


def hinted(offer: Offer) -> dict[str, Any]:
    """The place that a hint named, and the line that it must belong to."""
    (number, rank), line = offer.place, offer.open_line.line
    named = {"queue": line.queue, "definition": line.definition, "version": line.version}
    return {"line": number, "rank": rank, **named}
