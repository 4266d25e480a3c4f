"""A program as a handler: any executable file, run in the child of an attempt, without a shell.

Its params are JSON on standard input. Its result is what it writes to the file that TENURE_RESULT names, or
else the last JSON text on standard output; the rest of its output goes to the attempt's log, line by line.
Its exit code says whether it succeeded.

The program is in its child's group and session, under its limits: it is asked to stop, killed and accounted
for with the child. The attempt ends with the program; processes that it leaves are killed, not waited for.
"""

import os
import signal
from collections.abc import Collection, Sequence
from errno import ENOEXEC
from os import environ
from typing import Any, NoReturn
from uuid import uuid4

from tenure.core.errors import InvalidJson, ProgramFailed
from tenure.core.model.retry import unkept_kind
from tenure.core.values.document_faults import LARGEST_DOCUMENT
from tenure.core.values.documents import read, write
from tenure.execution.handler.context import Context
from tenure.execution.handler.program_files import contents, remove
from tenure.execution.handler.program_process import ProgramProcess
from tenure.execution.handler.program_state import ProgramState
from tenure.execution.handler.stdout_result import StdoutResult
from tenure.execution.protocol.limits import ENDED_BY
from tenure.execution.protocol.variables import NEVER

RESULT = "TENURE_RESULT"
"""The variable that names a file for the result."""

STATE = "TENURE_STATE"
"""The variable that names the file with the checkpoint of the job."""

TRACEPARENT = "TRACEPARENT"
"""The variable with the parent of the program's spans, as other tools use it too."""

_LARGEST_PARAMS = 8 * LARGEST_DOCUMENT
"""Params were bounded when accepted; written again, with what their type adds, they may be longer."""

_KEPT_ERRORS = 1_000
"""How many bytes of the end of standard error go into the message of a failure."""


class Program:
    """One program with its arguments; after one of `fatal_codes` its job is not tried again."""

    def __init__(self, arguments: Sequence[str], fatal_codes: Collection[int] = ()) -> None:
        self.arguments = tuple(arguments)
        self._fatal_codes = frozenset(fatal_codes)

    def run(self, params: object = None, ctx: Context | None = None) -> Any:
        """Run the program to its end and return its result; raises ProgramFailed."""
        path = f"{environ.get('TMPDIR', '/tmp')}/tenure-result-{uuid4().hex}"  # noqa: S108
        state = ProgramState(f"{path}-state", ctx)
        document = write({} if params is None else params, limit=_LARGEST_PARAMS)
        stdout = StdoutResult(lambda data: _write_all(1, data))
        last_errors = bytearray()

        def on_error(data: bytes) -> None:
            _write_all(2, data)
            last_errors.extend(data)
            del last_errors[:-_KEPT_ERRORS]

        if ctx is not None:
            ctx.check_cancelled()  # a request to stop before there is a program would reach none
        try:
            state.place()
            environment = _environment(ctx, path) | {STATE: state.path}
            started = self._started(f"{document}\n".encode(), environment)
            code = started.follow(stdout.feed, on_error, state.save_if_whole)
            stdout.close()
            state.save()
            written = contents(path, RESULT, LARGEST_DOCUMENT)
        finally:
            remove(path)
            remove(state.path)
        if code != 0 or written is not None:
            stdout.withdraw()
        if code != 0:
            self._fail(code, last_errors.decode(errors="replace"))
        return _result(stdout) if written is None else _value(written, f"the file that {RESULT} names")

    def _started(self, given: bytes, environment: dict[str, str]) -> ProgramProcess:
        name = self.arguments[0]
        try:
            return ProgramProcess.start(self.arguments, environment, given)
        except (FileNotFoundError, NotADirectoryError):
            problem = "the program that its first line names is not found" if _is_there(name) else "not found"
            raise ProgramFailed(f"{name} cannot be run: {problem}", ["ProgramNotFound"]) from None
        except PermissionError:
            # A folder on PATH that this user may not read is refused like a file that may not be executed.
            if "/" not in name and not _is_there(name):
                raise ProgramFailed(f"{name} cannot be run: not found", ["ProgramNotFound"]) from None
            problem = "it is no executable file for this user"
            raise ProgramFailed(f"{name} cannot be run: {problem}", ["ProgramNotExecutable"]) from None
        except OSError as error:
            if error.errno == ENOEXEC:
                problem = "it is neither a program for this machine nor a script whose first line names one"
                raise ProgramFailed(f"{name} cannot be run: {problem}", ["ProgramNotExecutable"]) from None
            raise ProgramFailed(f"{name} cannot be run: {error}", ["ProgramNotStarted"]) from None

    def _fail(self, code: int, errors: str) -> NoReturn:
        name = self.arguments[0]
        lines = [line.strip() for line in errors.splitlines() if line.strip()]
        last = f"; the last it said: {lines[-1]}" if lines else ""
        if code > 0:
            message = f"{name} exited with code {code}{last}"
            raise ProgramFailed(message, [f"ExitCode{code}"], is_fatal=code in self._fatal_codes)
        killer = _signal_name(-code)
        why = ENDED_BY.get(-code, "")  # type: ignore[call-overload]  # a signal is a number
        message = f"{name} was killed by {killer}{why}{last}"
        raise ProgramFailed(message, [killer, "KilledBySignal"])


def _environment(ctx: Context | None, path: str) -> dict[str, str]:
    environment = {name: value for name, value in environ.items() if name not in NEVER}
    environment[RESULT] = path
    if ctx is not None:
        environment["TENURE_JOB_ID"] = str(ctx.job_id)
        environment["TENURE_ATTEMPT"] = str(ctx.attempt)
        environment["TENURE_FENCE"] = str(ctx.fence)
        environment["TENURE_DEFINITION"] = f"{ctx.definition}@{ctx.version}"
        if ctx.traceparent is not None:
            environment[TRACEPARENT] = ctx.traceparent
    return environment


def _result(stdout: StdoutResult) -> Any:
    if stdout.is_too_large:
        problem = f"is too large; at most {LARGEST_DOCUMENT} bytes are taken"
        raise ProgramFailed(f"the result on standard output {problem}", ["ResultTooLarge"])
    return None if stdout.result is None else _value(stdout.result, "the result on standard output")


def _value(text: bytes, where: str) -> Any:
    try:
        return read(text)
    except InvalidJson as error:
        raise ProgramFailed(f"{where}: {error}", [unkept_kind(error)]) from None


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _is_there(name: str) -> bool:
    folders = [""] if "/" in name else environ.get("PATH", os.defpath).split(":")
    return any(os.path.exists(os.path.join(folder, name)) for folder in folders)  # noqa: PTH110, PTH118


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"Signal{number}"
