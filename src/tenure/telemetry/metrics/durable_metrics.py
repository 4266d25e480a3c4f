"""The metrics of progress that jobs keep: steps, suspensions and signals, counted as the store answers."""

from collections.abc import Sequence
from typing import Any

from tenure.core.model.durable import Keeping, Signalled, Standings, Suspension
from tenure.telemetry.metrics.instruments import Counter, Instrument
from tenure.telemetry.metrics.timed_store import OnAnswers


class DurableMetrics:
    """Counts what this process has kept, suspended and told for jobs."""

    def __init__(self) -> None:
        self._steps = Counter(
            "tenure_steps_total", "Steps that jobs asked to keep, by the answer.", "outcome"
        )
        self._suspensions = Counter(
            "tenure_suspensions_total", "Jobs that gave their slot back, by what they wait for.", "kind"
        )
        self._signals = Counter(
            "tenure_signals_total", "Signals sent to jobs, by what became of them.", "outcome"
        )
        self.by_verb: OnAnswers = {
            "keep_steps": self._on_kept,
            "suspend": self._on_suspended,
            "signal": self._on_signalled,
        }
        """What counts the answers of the store's verbs, by verb."""

    @property
    def instruments(self) -> list[Instrument]:
        """The counters."""
        return [self._steps, self._suspensions, self._signals]

    def _on_kept(self, _given: tuple[Any, ...], answers: Sequence[Keeping]) -> None:
        for answer in answers:
            self._steps.add((answer.value,))

    def _on_suspended(self, given: tuple[Any, ...], standings: Standings) -> None:
        suspensions: Sequence[Suspension] = given[1]
        for one in suspensions:
            if one.lease in standings:
                self._suspensions.add((one.wait.kind.value,))

    def _on_signalled(self, _given: tuple[Any, ...], answer: Signalled | None) -> None:
        if answer is not None:
            self._signals.add((answer.delivered.value,))
