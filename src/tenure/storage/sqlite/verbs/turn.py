"""The verb of the SQLite store that settles and claims."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from msgspec.structs import replace

from tenure.core.errors import DataRefused, StoreError
from tenure.core.model.aside import Aside, JobsAside
from tenure.core.model.lease import Line, Order
from tenure.core.model.outcome import Report
from tenure.core.model.turn import TurnResult
from tenure.core.values.bounds import MOST_SUSPENSIONS
from tenure.storage.mapping.aging import FURTHER, STEP, goes_by_age
from tenure.storage.mapping.reading import written_lines
from tenure.storage.mapping.turn_rows import ReportRow, report_rows, settled_from
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.connection import intact
from tenure.storage.sqlite.scripts import Step
from tenure.storage.sqlite.verbs import bisection
from tenure.storage.sqlite.verbs.bisection import Bisection


class Turn(Bisection):
    """Turns of workers."""

    _turns = 0
    _last_written: tuple[tuple[Line, ...], dict[str, str]] = (), {"lines": "[]", "scope": ""}

    async def settle_and_claim(self, reports: Sequence[Report], order: Order) -> TurnResult:
        self._turns += bool(order.limit)
        given = report_rows(reports)
        values: dict[str, Any] = {
            "worker": order.worker,
            "lease_for": rows.duration(order.lease_for),
            "limit": order.limit,
            "most_suspensions": MOST_SUSPENSIONS,
            **self._written(order.lines),
            "turn": self._turns,
            "step": rows.duration(STEP) if goes_by_age(self._turns) else None,
            "further": FURTHER,
        }
        try:
            answer = await self._run_turn(given, values)
        except DataRefused as refused:
            try:
                await self._bisect(refused, bisection.settling(given, values), bisection.claiming(values))
            except DataRefused:
                if not given or not order.limit:
                    raise
            # No single job is the culprit: one in line may need a slot that these reports have yet to free.
            return await self._settle_then_claim(reports, order)
        with intact(self._path):
            return TurnResult(settled_from(given, rows.settled_groups(answer)), rows.claimed(answer))

    def _written(self, lines: tuple[Line, ...]) -> dict[str, str]:
        """Lines as JSON, and what tells them from others; kept, since a worker has the same each time."""
        if self._last_written[0] is not lines:
            text = written_lines(lines)
            scope = blake2b(text.encode(), digest_size=16).hexdigest()
            self._last_written = lines, {"lines": text, "scope": scope}
        return self._last_written[1]

    async def _run_turn(self, given: Sequence[ReportRow], values: dict[str, Any]) -> list[tuple[Any, ...]]:
        async def run(steps: Mapping[str, Step]) -> list[tuple[Any, ...]]:
            return await self._writer.run(
                lambda connection, turn: self._scripts.bare(
                    connection, "settle_and_claim", rows.reports(given), steps, **turn._asdict(), **values
                )
            )

        try:
            return await run(self._known_places.steps)
        except DataRefused:
            if not self._known_places.forget():
                raise
        # Those to blame are looked for among the jobs that a walk finds, so that has to be what is refused.
        return await run({})

    async def _settle_then_claim(self, reports: Sequence[Report], order: Order) -> TurnResult:
        """Take a turn in two calls. What is settled stays settled, even if claiming fails."""
        settled = (await self.settle_and_claim(reports, replace(order, limit=0))).settled
        asides: list[Aside] = []
        with suppress(StoreError):
            while True:
                try:
                    claimed = (await self.settle_and_claim([], order)).claimed
                except JobsAside as put:  # go on without them
                    asides += put.asides
                else:
                    return TurnResult(settled, claimed, asides)
        return TurnResult(settled, [], asides)
