"""Trials of a verb's script: on part of the batch that was refused, always rolled back."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from uuid import UUID

import apsw
import msgspec

from tenure.core.model.aside import Aside
from tenure.core.model.lease import Lease
from tenure.storage.mapping import aside
from tenure.storage.mapping.aside import Culprit, DatabaseRefusal
from tenure.storage.mapping.culprits import Trials
from tenure.storage.sqlite import rows
from tenure.storage.sqlite.file.clock import TransactionTime
from tenure.storage.sqlite.scripts import Only, Scripts

S = TypeVar("S")


class Trial:
    """A transaction in which a verb's script can be tried on part of the batch that was refused."""

    def __init__(self, scripts: Scripts, connection: apsw.Connection, turn: TransactionTime) -> None:
        self._scripts = scripts
        self._connection = connection
        self._turn = turn._asdict()

    def culprits(self, trials: Trials[S], run: Callable[[Sequence[S]], object]) -> list[Culprit]:
        """Try the script on each part that the search yields; what the search finds."""
        try:
            some = next(trials)
            while True:
                some = trials.send(self._refusal(run, some) if some else None)
        except StopIteration as end:
            found: list[Culprit] = end.value
            return found

    def run(self, verb: str, given: Sequence[tuple[Any, ...]] = (), /, **values: Any) -> None:
        """Run the whole script on the rows given."""
        self._scripts.bare(self._connection, verb, given, **self._turn, **values)

    def run_only(self, verb: str, only: Only, jobs: Sequence[str], /, **values: Any) -> None:
        """Run the whole script on some of the jobs that it finds."""
        self._scripts.run_only(self._connection, verb, only, jobs, **self._turn, **values)

    def found(self, verb: str, only: Only, /, **values: Any) -> list[dict[str, Any]]:
        """The jobs that the script would find."""
        self._connection.execute("SAVEPOINT trial")
        self._scripts.find(self._connection, verb, only, **self._turn, **values)
        found = self._scripts.one(self._connection, f"sift.{only.table}")
        self._roll_back()
        return found

    def stranded(self, given: Sequence[Lease]) -> list[Lease]:
        """The leases whose row is gone."""
        written = msgspec.json.encode([(lease.job, lease.fence) for lease in given]).decode()
        found = self._scripts.one(self._connection, "sift.stranded", given=written)
        return [Lease(row["job"], row["fence"]) for row in found]

    def put(self, one: Culprit) -> None:
        """Put a job aside."""
        kept = aside.columns(one)
        own = {"job": str(one.job), "after": rows.duration(kept["after"])}
        values = {**self._turn, **kept, **own}
        is_new = not self._scripts.one(self._connection, "sift.known", **values)
        for part in (
            "put",
            *(("freed",) if is_new else ()),
            "parted",
            "out_of_line",
            "out_of_place",
            "untimed",
        ):
            self._scripts.one(self._connection, f"sift.{part}", **values)

    def asides(self, guilty: Sequence[Culprit]) -> list[Aside]:
        """The jobs that were put aside, as they are listed."""
        jobs = written_ids([one.job for one in guilty])
        most = len(guilty)
        found = self._scripts.one(
            self._connection, "asides", jobs=jobs, namespace=None, most=most, limit=most
        )
        return [aside.aside_from(row) for row in found]

    def _refusal(self, run: Callable[[Sequence[S]], object], some: Sequence[S]) -> DatabaseRefusal | None:
        self._connection.execute("SAVEPOINT trial")
        try:
            run(some)
        except apsw.ConstraintError as error:
            code = apsw.mapping_extended_result_codes.get(getattr(error, "extendedresult", 0))
            return DatabaseRefusal(None if code is None else str(code), str(error)[:200])
        else:
            return None
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK TO trial; RELEASE trial")


def written_ids(jobs: list[UUID]) -> str:
    """Ids as JSON."""
    return msgspec.json.encode(jobs).decode()
