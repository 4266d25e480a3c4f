"""The contract about finished jobs: they run again as others, and go when their time is over."""

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from tenure.core.model.job import Job, NewJob
from tenure.core.model.states import State
from tenure.core.reports.operations import Replayed
from tenure.core.reports.retention import Pruned, Retention
from tests.model.kept_progress import KeptProgress

_INHERITED = (
    *("definition", "version", "queue", "priority", "policy", "limits", "tags"),
    *("namespace", "params", "traceparent"),
)


class WholeModel(KeptProgress):
    """What a store must do, finished jobs included."""

    def replay(self, ids: Sequence[UUID], chosen: Sequence[Replayed], *, forced: bool) -> list[Replayed]:
        self.calls += 1
        answers: dict[UUID, Replayed] = {}
        for job, made in zip(ids, chosen, strict=True):
            if job not in answers:
                answers[job] = self._replayed(job, made.replay, forced=forced)
        return [answers[job] for job in ids]

    def _replayed(self, job: UUID, chosen: UUID | None, *, forced: bool) -> Replayed:
        first = self.get(job)
        if first is None or not first.state.is_final:
            self.visited(f"replay: {'not finished' if first else 'unknown job'}")
            return Replayed(job, first.state if first else None, None, fresh=False)
        earlier = [
            other.id for other in self.jobs.values() if other.replay_of == job and not other.state.is_final
        ]
        if earlier and not forced:
            self.visited("replay: earlier one is under way")
            return Replayed(job, first.state, max(earlier), fresh=False)
        self.visited(f"replay: {'forced beside an earlier one' if earlier else first.state}")
        assert chosen is not None, f"replay: refused for {first.state}"
        inherited = {name: getattr(first, name) for name in _INHERITED}
        self._recorded(NewJob(replay_of=job, **inherited), chosen, place=0)
        return Replayed(job, first.state, chosen, fresh=True)

    def prune(self, retention: Retention, *, after: UUID | None, limit: int) -> Pruned:
        ids = sorted(job for job in self.jobs if after is None or job > after)[:limit]
        over = [job for job in ids if self._is_over(self.jobs[job], retention)]
        counts = Counter((self.jobs[job].definition, self.jobs[job].state) for job in over)
        for job in over:
            self._removed(job)
        self.visited_if(over, "prune: removed")
        self.visited_if(len(ids) == limit, "prune: in parts")
        return Pruned(len(over), ids[-1] if len(ids) == limit else None, dict(counts))

    def _is_over(self, job: Job, retention: Retention) -> bool:
        if job.finished_at is None:
            self.visited("prune: spared as not finished")
            return False
        kept_for = retention.succeeded if job.state is State.SUCCEEDED else retention.others
        age = self.now - job.finished_at
        is_young, is_remembered = age < kept_for, job.key is not None and age < retention.keyed
        self.visited_if(is_young and not is_remembered, "prune: spared as young")
        self.visited_if(is_remembered and not is_young, "prune: spared for its key")
        if is_young or is_remembered:
            return False
        self.visited_if(self.is_in_doubt(job.id), "prune: spared for an effect in doubt")
        return not self.is_in_doubt(job.id)

    def _removed(self, job: UUID) -> None:
        """With all that belongs to it: a later job with the same id or key is another job."""
        del self.jobs[job], self._events[job], self._ended[job]
        self.places.pop(job, None)
        self.forget(job)
        self._given_up.discard(job)
        self._keys = {key: owner for key, owner in self._keys.items() if owner != job}
