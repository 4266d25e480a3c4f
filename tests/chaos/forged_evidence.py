"""Small forgeries: evidence with one thing changed, the rest as it was."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from msgspec.structs import replace

from chaos.evidence import Evidence, Reply, Writing
from chaos.ledger import Entry, Kind
from chaos.messages.passages import Passage


@dataclass(frozen=True)
class Forger:
    """Evidence, and the jobs in it by name."""

    evidence: Evidence
    jobs: dict[str, UUID]

    def but(self, **changed: Any) -> "Forger":
        """Whole kinds of evidence replaced."""
        return Forger(replace(self.evidence, **changed), self.jobs)

    def terms(self, **changed: Any) -> "Forger":
        """Other terms."""
        return self.but(terms=replace(self.evidence.terms, **changed))

    def job(self, name: str, /, **changed: Any) -> "Forger":
        """A row changed, and as it was seen before as well."""
        sightings = [
            replace(sighting, job=replace(sighting.job, **changed))
            if sighting.job.id == self.jobs[name]
            else sighting
            for sighting in self.evidence.sightings
        ]
        return self.row(name, **changed).but(sightings=sightings)

    def row(self, name: str, /, **changed: Any) -> "Forger":
        """A row changed, though not as it was seen before."""
        return self.but(
            jobs=self._changed(self.evidence.jobs, lambda job: job.id == self.jobs[name], changed)
        )

    def event(self, name: str, which: int, /, **changed: Any) -> "Forger":
        """An event changed."""
        return self.but(
            events=self._changed(
                self.evidence.events, lambda event: event.job == self.jobs[name] and event.n == which, changed
            )
        )

    def attempt(self, name: str, which: int, /, **changed: Any) -> "Forger":
        """An attempt changed."""
        return self.but(
            attempts=self._changed(
                self.evidence.attempts,
                lambda attempt: attempt.job == self.jobs[name] and attempt.number == which,
                changed,
            )
        )

    def sighting(self, name: str, events: int, /, **changed: Any) -> "Forger":
        """A job seen otherwise, at the time when it had so many events."""
        return self.but(
            sightings=[
                replace(sighting, job=replace(sighting.job, **changed))
                if sighting.job.id == self.jobs[name] and sighting.job.events == events
                else sighting
                for sighting in self.evidence.sightings
            ]
        )

    def entry(self, kind: Kind, name: str, attempt: int, at: float, fence: int | None = None) -> "Forger":
        """One more line in the ledger, under the fence of an attempt or another one."""
        made = Entry(kind, self.jobs[name], attempt, fence or self.fence(name, attempt), 4711, at)
        return self.but(ledger=[*self.evidence.ledger, made])

    def unwritten(self, name: str, *kinds: Kind) -> "Forger":
        """A ledger without some lines of a job."""
        gone = self.jobs[name]
        return self.but(
            ledger=[one for one in self.evidence.ledger if one.job != gone or one.kind not in kinds]
        )

    def refenced(self, name: str, attempt: int, fence: int) -> "Forger":
        """An attempt under another fence, wherever that is written."""
        old, job = self.fence(name, attempt), self.jobs[name]

        def changed(of: UUID, under: int) -> dict[str, int]:
            return {"fence": fence} if (of, under) == (job, old) else {}

        had = self.evidence
        return self.but(
            jobs=[replace(one, **changed(one.id, one.fence)) for one in had.jobs],
            events=[replace(one, **changed(one.job, one.fence)) for one in had.events],
            attempts=[replace(one, **changed(one.job, one.fence)) for one in had.attempts],
            ledger=[replace(one, **changed(one.job, one.fence)) for one in had.ledger],
            sightings=[
                replace(one, job=replace(one.job, **changed(one.job.id, one.job.fence)))
                for one in had.sightings
            ],
        )

    def without(self, name: str, *, unseen: bool = True) -> "Forger":
        """Evidence without a job, the totals corrected; `unseen`: as if it had never been seen either."""
        gone, had = self.jobs[name], self.evidence
        return self.but(
            jobs=[job for job in had.jobs if job.id != gone],
            events=[event for event in had.events if event.job != gone],
            attempts=[attempt for attempt in had.attempts if attempt.job != gone],
            ledger=[entry for entry in had.ledger if entry.job != gone],
            sightings=[seen for seen in had.sightings if seen.job.id != gone or not unseen],
            lines=[],
        )

    def call(self, number: int, /, **changed: Any) -> "Forger":
        """A call changed."""
        return self.but(history=self._changed(self.evidence.history, lambda c: c.number == number, changed))

    def stay(self, worker: str, /, **changed: Any) -> "Forger":
        """A worker's life changed."""
        return self.but(stays=self._changed(self.evidence.stays, lambda stay: stay.worker == worker, changed))

    def heard(self, namespace: str | None, text: str) -> "Forger":
        """One more answer of a server."""
        reply = Reply(namespace=namespace, asked="GET /v1/jobs", status=200, text=text)
        return self.but(replies=[*self.evidence.replies, reply])

    def wrote(self, name: str, text: str) -> "Forger":
        """Something that a process wrote."""
        return self.but(writings=[*self.evidence.writings, Writing(name, text)])

    def led(self, name: str, attempt: int, *, removed_at: float | None, leads: bool = True) -> "Forger":
        """A message that led to a claim, or a copy of it, and when it was removed."""
        which: dict[str, Any] = {"process": "worker-1", "job": self.jobs[name]}
        receipt = f"{name} {len(self.evidence.passages)}"
        made = [Passage(kind="got", at=0.9, receipt=receipt, **which)]
        if leads:
            made.append(Passage(kind="led", at=1.1, fence=self.fence(name, attempt), **which))
        if removed_at is not None:
            made.append(Passage(kind="removed", at=removed_at, receipt=receipt, **which))
        return self.but(passages=[*self.evidence.passages, *made])

    def fence(self, name: str, attempt: int) -> int:
        """The fence of an attempt."""
        return next(
            one.fence
            for one in self.evidence.attempts
            if one.job == self.jobs[name] and one.number == attempt
        )

    def _changed(self, rows: list[Any], which: Callable[[Any], bool], changed: dict[str, Any]) -> list[Any]:
        assert any(which(row) for row in rows), "there is nothing to forge"
        return [replace(row, **changed) if which(row) else row for row in rows]
