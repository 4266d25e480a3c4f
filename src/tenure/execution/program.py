"""A program as a handler: any executable file, run in the child of an attempt, without a shell.

Its params are JSON on standard input. Its result is what it has written to the file that TENURE_RESULT names,
or else the last JSON text on standard output; the rest of its output is the attempt's, line by line. Its exit
code says whether it has succeeded.

The program is a member of its child's group and session, under its limits: it is asked to stop, killed and
accounted for with it. With the program ends the attempt; whoever it leaves behind is ended, not waited for.
"""

import os
import signal
from collections.abc import Collection, Sequence
from errno import ENOEXEC
from os import environ
from typing import Any, NoReturn
from uuid import uuid4

from tenure.core.documents import read, write
from tenure.core.errors import InvalidJson, ProgramFailed
from tenure.core.faults import LARGEST_DOCUMENT
from tenure.core.retry import unkept_kind
from tenure.execution.context import Context
from tenure.execution.limits import ENDED_BY, NEVER
from tenure.execution.printed import Printed
from tenure.execution.spawned import Spawned

RESULT = "TENURE_RESULT"
"""The variable that names a file for the result."""

TRACEPARENT = "TRACEPARENT"
"""The variable by which a program knows what it follows from in a trace, as others know it, too."""

_LARGEST_PARAMS = 8 * LARGEST_DOCUMENT
"""A bound for what was accepted once, and is written anew with what its type adds."""

_LAST_WORDS = 1_000
"""How many bytes of the end of standard error go into the message of a failure."""


class Program:
    """One program with its arguments; after one of `fatal_codes` its job is not tried again."""

    def __init__(self, arguments: Sequence[str], fatal_codes: Collection[int] = ()) -> None:
        self.arguments = tuple(arguments)
        self._fatal_codes = frozenset(fatal_codes)

    def run(self, params: object = None, ctx: Context | None = None) -> Any:
        """Run the program to its end; answers with its result, raises ProgramFailed."""
        place = f"{environ.get('TMPDIR', '/tmp')}/tenure-result-{uuid4().hex}"  # noqa: S108
        document = write({} if params is None else params, limit=_LARGEST_PARAMS)
        printed = Printed(lambda data: _say(1, data))
        last_words = bytearray()

        def hear_error(data: bytes) -> None:
            _say(2, data)
            last_words.extend(data)
            del last_words[:-_LAST_WORDS]

        if ctx is not None:
            ctx.check_cancelled()  # who was asked before the program was there would ask nobody
        try:
            code = self._started(f"{document}\n".encode(), _environment(ctx, place)).follow(
                printed.feed, hear_error
            )
            printed.close()
            written = _contents(place)
        finally:
            _remove(place)
        if code != 0 or written is not None:
            printed.withdraw()
        if code != 0:
            self._fail(code, last_words.decode(errors="replace"))
        return _answer(printed) if written is None else _value(written, f"the file that {RESULT} names")

    def _started(self, given: bytes, environment: dict[str, str]) -> Spawned:
        name = self.arguments[0]
        try:
            return Spawned.start(self.arguments, environment, given)
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

    def _fail(self, code: int, said: str) -> NoReturn:
        name = self.arguments[0]
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        ended = f"; the last it said: {lines[-1]}" if lines else ""
        if code > 0:
            message = f"{name} exited with code {code}{ended}"
            raise ProgramFailed(message, [f"ExitCode{code}"], is_fatal=code in self._fatal_codes)
        killer = _signal_name(-code)
        why = ENDED_BY.get(-code, "")  # type: ignore[call-overload]  # a signal is a number
        message = f"{name} was killed by {killer}{why}{ended}"
        raise ProgramFailed(message, [killer, "KilledBySignal"])


def _environment(ctx: Context | None, place: str) -> dict[str, str]:
    given = {name: value for name, value in environ.items() if name not in NEVER}
    given[RESULT] = place
    if ctx is not None:
        given["TENURE_JOB_ID"] = str(ctx.job_id)
        given["TENURE_ATTEMPT"] = str(ctx.attempt)
        given["TENURE_FENCE"] = str(ctx.fence)
        given["TENURE_DEFINITION"] = f"{ctx.definition}@{ctx.version}"
        if ctx.traceparent is not None:
            given[TRACEPARENT] = ctx.traceparent
    return given


def _answer(printed: Printed) -> Any:
    if printed.is_too_large:
        problem = f"is too large; at most {LARGEST_DOCUMENT} bytes are taken"
        raise ProgramFailed(f"the result on standard output {problem}", ["ResultTooLarge"])
    return None if printed.result is None else _value(printed.result, "the result on standard output")


def _value(text: bytes, where: str) -> Any:
    try:
        return read(text)
    except InvalidJson as error:
        raise ProgramFailed(f"{where}: {error}", [unkept_kind(error)]) from None


def _contents(place: str) -> bytes | None:
    """What the program has written there, as far as a result may be long; None if it has not."""
    try:
        # Not to wait for somebody to write, should it be a pipe.
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ProgramFailed(f"the file that {RESULT} names: {error}", ["ResultNotJson"]) from None
    try:
        content = b""
        while len(content) <= LARGEST_DOCUMENT and (more := os.read(descriptor, LARGEST_DOCUMENT)):
            content += more
        return content
    except OSError as error:  # it is a folder
        raise ProgramFailed(f"the file that {RESULT} names: {error}", ["ResultNotJson"]) from None
    finally:
        os.close(descriptor)


def _remove(place: str) -> None:
    try:
        os.unlink(place)  # noqa: PTH108
    except OSError:  # there is none, or it is a folder, which goes with the attempt's own
        pass


def _say(descriptor: int, data: bytes) -> None:
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
