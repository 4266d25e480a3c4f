"""What a command that goes on says on standard error: to people on a terminal, to programs elsewhere."""

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tenure.core.urls import masked_in
from tenure.settings import Settings
from tenure.surfaces.cli.running import open_standard_streams
from tenure.surfaces.cli.telling import Console
from tenure.surfaces.redaction import Redaction
from tenure.telemetry.inlet import taken_in
from tenure.telemetry.logs import Entry, Logs
from tenure.telemetry.outlet import Form, Outlet
from tenure.telemetry.structured import Structured

STANDARD_ERROR = 2


@contextmanager
def speaking(settings: Settings) -> Iterator[Logs]:
    """The command's log, while the context lasts.

    What others write to standard error, and what libraries log, goes there, too.
    """
    open_standard_streams()
    # Never closed: should nobody read it, who writes there is still at it when the command ends.
    outlet = Outlet(os.dup(STANDARD_ERROR), _form(settings))
    logs = Logs(outlet.put, settings.log_level)
    libraries = Libraries(logs)
    logging.getLogger().addHandler(libraries)
    try:
        with taken_in(STANDARD_ERROR, logs.output):
            yield logs
            if sys.stderr is not None:
                sys.stderr.flush()
    finally:
        logging.getLogger().removeHandler(libraries)
        outlet.close()


def _form(settings: Settings) -> Form[Entry]:
    redaction = Redaction(settings.redact)

    def hide(text: str) -> str:
        return redaction.text(masked_in(text))

    is_terminal = os.isatty(STANDARD_ERROR)
    if settings.log_format == "json" or (settings.log_format == "auto" and not is_terminal):
        return Structured(hide, notices=settings.log_format == "json")
    return Console(hide, is_coloured=is_terminal and not os.environ.get("NO_COLOR"))


class Libraries(logging.Handler):
    """Takes warnings, and what is worse."""

    def __init__(self, logs: Logs) -> None:
        super().__init__(logging.WARNING)
        self._logs = logs

    def emit(self, record: logging.LogRecord) -> None:
        """Take one record; one that cannot be put into words is no trouble of whoever logged it."""
        try:
            self._logs.library(record)
        except Exception:
            self.handleError(record)
