"""The log of a long-running command on standard error: lines for people on a terminal, else JSON."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tenure.api.redaction import Redaction
from tenure.core.values.urls import masked_in
from tenure.settings.settings import Settings
from tenure.surfaces.cli.process.event_loop import open_standard_streams
from tenure.surfaces.cli.process.human_lines import HumanLines
from tenure.telemetry.logs.captured_stdio import captured
from tenure.telemetry.logs.logs import EventLog, LogEntry
from tenure.telemetry.logs.nonblocking_stdio import Form, NonblockingStdio
from tenure.telemetry.logs.structured import Structured

STANDARD_ERROR = 2


@contextmanager
def log_output(settings: Settings) -> Iterator[EventLog]:
    """The command's log, while the context lasts.

    It also takes what libraries log, and what other code writes to standard error.
    """
    open_standard_streams()
    # The copy is never closed: if standard error is not read, its writer still uses it at the end.
    standard_error = NonblockingStdio(os.dup(STANDARD_ERROR), _form(settings))
    logs = EventLog(standard_error.put, settings.log_level, standard_error.put_if_room)
    libraries = Libraries(logs)
    logging.getLogger().addHandler(libraries)
    try:
        with captured(STANDARD_ERROR, logs.output):
            yield logs
            if sys.stderr is not None:
                sys.stderr.flush()
    finally:
        logging.getLogger().removeHandler(libraries)
        standard_error.close()


def _form(settings: Settings) -> Form[LogEntry]:
    redaction = Redaction(settings.redact)

    def hide(text: str) -> str:
        return redaction.text(masked_in(text))

    is_terminal = os.isatty(STANDARD_ERROR)
    if settings.log_format == "json" or (settings.log_format == "auto" and not is_terminal):
        return Structured(hide, notices=settings.log_format == "json", hide_fields=redaction.fields)
    is_coloured = is_terminal and not os.environ.get("NO_COLOR")
    return HumanLines(hide, is_coloured=is_coloured, hide_fields=redaction.fields)


class Libraries(logging.Handler):
    """Takes warnings and errors that libraries log."""

    def __init__(self, logs: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._logs = logs

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record; if it cannot be formatted, its logger must not fail."""
        try:
            self._logs.library(record)
        except Exception:
            self.handleError(record)
