"""The verb of the SQLite store that claims certain jobs: by the scripts of promoting, reaping and a turn.

Each of them finds its jobs by their ids; the rest of it is as ever, all in one transaction of the writer.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any
from uuid import UUID

import apsw
import msgspec

from tenure.core.errors import DataRefused
from tenure.core.model.claim_by_id import TheseClaimed
from tenure.core.model.lease import Order
from tenure.storage.mapping import claims_by_id as mapping
from tenure.storage.mapping.claims_by_id import DUE, EXPIRED
from tenure.storage.mapping.reading import written_lines
from tenure.storage.mapping.return_steps import REAPER
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.file.connection import intact
from tenure.storage.sqlite.file.database import Database, Rows
from tenure.storage.sqlite.scripts import Step
from tenure.storage.sqlite.verbs.bisection import no_claim


class ClaimsById(Database):
    """Claims of the jobs that messages name."""

    async def claim_these(self, order: Order, ids: Collection[UUID]) -> TheseClaimed:
        asked = mapping.asked(order, ids)
        if not asked:
            return TheseClaimed([], {})
        try:
            known, answer = await self._writer.run(
                lambda connection, turn: self._claim_these(connection, turn, order, asked)
            )
        except DataRefused:
            if len(asked) == 1:
                return TheseClaimed([], {asked[0]: mapping.REFUSED})
        else:
            left = {row["job"]: row for row in known if row["why"] is not None}
            with intact(self._path):
                return mapping.answer(
                    rows.claimed(answer),
                    {
                        job: mapping.unclaimed(row["why"], row["queue"], row["definition"], row["version"])
                        for job, row in left.items()
                    },
                )
        # One job that is refused is not to hold up the others.
        return mapping.merged([await self.claim_these(order, [job]) for job in asked])

    def _claim_these(
        self, connection: apsw.Connection, turn: TransactionTime, order: Order, ids: Sequence[UUID]
    ) -> tuple[Rows, list[tuple[Any, ...]]]:
        lines = written_lines(order.lines)

        def look() -> Rows:
            return self._scripts.one(
                connection, "claim_these.known", named=_written(ids), lines=lines, **turn._asdict()
            )

        known = look()
        needs = {row["why"] for row in known}
        if DUE in needs:
            due = _written(row["job"] for row in known if row["why"] == DUE)
            self._scripts.bare(
                connection, "promote", (), self._finding(due, "due"), **turn._asdict(), limit=len(ids)
            )
        if EXPIRED in needs:
            lost = _written(row["job"] for row in known if row["why"] == EXPIRED)
            steps = self._finding(lost, "lost", "swept")
            self._scripts.bare(connection, "reap", (), steps, **turn._asdict(), **REAPER, limit=len(ids))
        known = look() if needs & {DUE, EXPIRED} else known
        free = [row["job"] for row in known if row["why"] is None]
        if not free:
            return known, []
        claim = no_claim(order.worker) | {"lease_for": rows.duration(order.lease_for)}
        steps = self._finding(_written(free), places="picked")
        return known, self._scripts.bare(connection, "settle_and_claim", (), steps, **turn._asdict(), **claim)

    def _finding(self, named: str, /, *parts: str, **others: str) -> Mapping[str, Step]:
        """Steps that run parts of `claim_these` in place of a script's own, for the jobs named."""

        def step(part: str) -> Step:
            def find(connection: apsw.Connection, _text: str, values: dict[str, Any]) -> None:
                connection.execute(self._scripts.statements[f"claim_these.{part}"], values | {"named": named})

            return find

        return {name: step(part) for name, part in {**dict(zip(parts, parts, strict=True)), **others}.items()}


def _written(ids: Any) -> str:
    return msgspec.json.encode([str(job) for job in ids]).decode()
