"""The checkpoint of a program's job: a file that it finds at its start, and that outlives its attempt."""

import os

from tenure.core.errors import InvalidJson, ProgramFailed
from tenure.core.values.document_faults import LARGEST_DOCUMENT
from tenure.core.values.documents import Document, check
from tenure.execution.handler.context import Context
from tenure.execution.handler.program_files import contents


class ProgramState:
    """The file of one attempt; `path` names it, whether it is there or not."""

    def __init__(self, path: str, ctx: Context | None) -> None:
        self.path = path
        self._ctx = ctx
        self._saved: Document | None = None
        self._seen = 0

    def place(self) -> None:
        """Write the last checkpoint there. The first claim of a job cannot find any, and asks nothing."""
        if self._ctx is None or self._ctx.fence == 1:
            return
        calls = self._ctx._durable()
        self._saved = calls.run_sync(calls.plans.remember()).checkpoint
        if self._saved is not None:
            with open(self.path, "w", encoding="utf-8") as file:  # noqa: PTH123
                file.write(self._saved)
            self._seen = self._changed_at()

    def save_if_whole(self) -> None:
        """Save what the program has written so far; half a document will be whole the next time."""
        if (changed_at := self._changed_at()) != self._seen:
            try:
                self._save()
            except (InvalidJson, ProgramFailed):
                return
            self._seen = changed_at

    def save(self) -> None:
        """Save what the program has left; what is no JSON is told in the log, and the last one stands."""
        try:
            self._save()
        except (InvalidJson, ProgramFailed) as error:
            if self._ctx is not None:
                self._ctx.log.warning("the state that the program left was not saved", reason=str(error))

    def _save(self) -> None:
        if self._ctx is None or not (written := contents(self.path, "TENURE_STATE", LARGEST_DOCUMENT)):
            return
        if (document := check(written)) != self._saved:
            calls = self._ctx._durable()
            calls.run_sync(calls.plans.save(document))
            self._saved = document

    def _changed_at(self) -> int:
        try:
            return os.stat(self.path).st_mtime_ns  # noqa: PTH116
        except OSError:
            return 0
