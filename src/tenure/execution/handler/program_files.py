"""The files by which a program and its attempt exchange what is too long, or too late, for its output."""

import os

from tenure.core.errors import ProgramFailed


def contents(path: str, variable: str, most: int) -> bytes | None:
    """What the program wrote there, and a little more than it may; None if it wrote nothing.

    `variable` is what tells it the path.
    """
    try:
        # Without waiting for a writer, should it be a pipe.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unread(variable, error) from None
    try:
        content = b""
        while len(content) <= most and (more := os.read(descriptor, most)):
            content += more
        return content
    except OSError as error:  # it is a folder
        raise _unread(variable, error) from None
    finally:
        os.close(descriptor)


def remove(path: str) -> None:
    """Remove the file."""
    try:
        os.unlink(path)  # noqa: PTH108
    except OSError:  # there is none, or it is a folder, which is removed with the attempt's own
        pass


def _unread(variable: str, error: OSError) -> ProgramFailed:
    return ProgramFailed(f"the file that {variable} names: {error}", [f"{variable[7:].title()}NotJson"])
