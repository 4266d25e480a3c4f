"""The standard `logging` in a handler: what is logged becomes lines of the job's log.

A record arrives with its level, its logger's name, its `extra` and the text of its exception. It takes the
way of all records: loggers' levels and filters apply, and one that a logger does not pass up to the root
does not arrive. A handler of the app that writes to standard output or error gives way to the line: what it
would write is captured, too, and the record would stand there twice. Its level and its filters still decide
what arrives, its format does not count. All other handlers, such as files, get the record as ever.

This is no handler of the root logger: `basicConfig` would take that for a configuration and do nothing, and
`dictConfig` would remove it. Methods of `logging` itself are wrapped instead. An app that has not imported
`logging` pays nothing; it is done when some code does.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from tenure.core.errors import TenureError
from tenure.execution.handler.context import LONGEST_TEXT, log_fields
from tenure.execution.protocol.messages import LogMessage

if TYPE_CHECKING:
    from importlib.abc import Loader
    from importlib.machinery import ModuleSpec
    from logging import Handler as LogHandler
    from logging import Logger, LogRecord

LONGEST_EXCEPTION = 16_384
"""The most characters of an exception's text, of which the end is kept."""

_LOGGING = "logging"
_USUAL_LEVELS = {10: "debug", 20: "info", 30: "warning", 40: "error"}
_OWN_FIELDS = frozenset(
    {
        *("name", "msg", "args", "levelname", "levelno", "pathname", "filename", "module", "exc_info"),
        *("exc_text", "stack_info", "lineno", "funcName", "created", "msecs", "relativeCreated", "thread"),
        *("threadName", "processName", "process", "taskName", "message", "asctime"),
    }
)
"""Attributes that every record has; others are its `extra`."""


class LineSink(Protocol):
    """Takes the lines of one attempt: a channel."""

    def send(self, message: LogMessage) -> None:
        """Send a line to the worker."""


Find = Callable[[], LineSink | None]
"""Returns the attempt in whose name the calling code runs; None if there is none."""


class LogCapture:
    """Sends records to the attempt that `find` returns, from `install` to `remove`.

    With `replaces_output`, handlers that write to standard output or error do not get what is sent.
    """

    def __init__(self, find: Find, *, replaces_output: bool) -> None:
        self._find = find
        self._replaces_output = replaces_output
        self._replaced: list[tuple[Any, str, Any, Any]] = []

    def install(self) -> None:
        """Begin, now or when `logging` is imported."""
        module = sys.modules.get(_LOGGING)
        if module is None:
            sys.meta_path.insert(0, self)
        else:
            self._take_over(module)

    def remove(self) -> None:
        """Leave `logging` as it was."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        for owner, name, original, replacing in self._replaced:
            if getattr(owner, name) is replacing:  # else another library calls it, and it finds no attempt
                setattr(owner, name, original)
        self._replaced.clear()

    def find_spec(self, name: str, path: Any, target: ModuleType | None = None) -> "ModuleSpec | None":
        """Be asked by Python for each module that is imported; acts on one."""
        if name != _LOGGING:
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            spec = finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                self._follow(spec.loader)
                return spec
        return None

    def _follow(self, loader: "Loader") -> None:
        """Take over when the module has been loaded."""
        execute = loader.exec_module

        def execute_and_take_over(module: ModuleType) -> None:
            execute(module)
            self._take_over(module)

        loader.exec_module = execute_and_take_over  # type: ignore[method-assign]

    def _take_over(self, module: Any) -> None:
        self._replace_method(module.Logger, "callHandlers", self._calling)
        if not self._replaces_output:
            return
        self._replace_method(module.Handler, "handle", self._handling)
        root = module.root
        if root.level == module.WARNING and not root.handlers:
            root.setLevel(module.INFO)  # the app has configured nothing

    def _replace_method(self, owner: Any, name: str, around: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)
        replacing = around(original)
        setattr(owner, name, replacing)
        self._replaced.append((owner, name, original, replacing))

    def _calling(self, call_handlers: Callable[["Logger", "LogRecord"], None]) -> Any:
        def call(logger: "Logger", record: "LogRecord") -> None:
            attempt = self._find()
            if attempt is not None and (line := _line_of(logger, record)) is not None:
                _send(attempt, line)
            call_handlers(logger, record)  # in any case: it may be another library's, for its own purpose

        return call

    def _handling(self, handle: Callable[["LogHandler", "LogRecord"], bool]) -> Any:
        def handle_unless_sent(handler: "LogHandler", record: "LogRecord") -> bool:
            if self._find() is not None and _is_console(handler):
                return False
            return handle(handler, record)

        return handle_unless_sent


def _line_of(logger: "Logger", record: "LogRecord") -> "LogRecord | None":
    """The record that becomes a line; None if its loggers, or handlers that the line replaces, refuse it."""
    console: list[LogHandler] = []
    here: Logger | None = logger
    while here is not None:
        console += filter(_is_console, here.handlers)
        if not here.propagate:
            break
        here = here.parent
    if not console:
        return record if here is None else None
    for handler in console:
        if record.levelno >= handler.level:
            kept: Any = handler.filter(record)  # from Python 3.12 on it may be another record
            if kept:
                return record if kept is True else kept
    return None


def _is_console(handler: "LogHandler") -> bool:
    """Whether a handler writes to standard output or error, itself or by a console as Rich's does."""
    written_to = getattr(handler, "stream", None) or getattr(getattr(handler, "console", None), "file", None)
    return written_to is not None and written_to in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)


def _send(attempt: LineSink, record: "LogRecord") -> None:
    """Send a record as a line. Logging must not fail, even if the worker is gone."""
    try:
        text = record.getMessage()
    except Exception as error:  # arguments that do not fit the text, or cannot be shown
        text = f"{record.msg!s} (its arguments do not fit: {type(error).__name__}: {error})"
    try:
        shown = text[:LONGEST_TEXT].encode(errors="replace").decode()
        attempt.send(LogMessage(_level(record), shown, log_fields(_fields(record))))
    except (OSError, TenureError):
        pass


def _level(record: "LogRecord") -> str:
    return _USUAL_LEVELS[min(max(record.levelno // 10 * 10, 10), 40)]


def _fields(record: "LogRecord") -> dict[str, object]:
    fields = {name: value for name, value in vars(record).items() if name not in _OWN_FIELDS}
    fields["logger"] = record.name
    if record.levelno not in _USUAL_LEVELS:
        fields["level"] = record.levelname
    if trace := _exception(record):
        fields["exception"] = trace[-LONGEST_EXCEPTION:]
    return fields


def _exception(record: "LogRecord") -> str:
    """The text of a record's exception, or of the stack that it was logged with."""
    if record.exc_info and record.exc_info[1] is not None:
        import traceback

        return "".join(traceback.format_exception(record.exc_info[1])).rstrip()
    return record.exc_text or record.stack_info or ""
