"""What the log says of messages that name jobs."""

from typing import Any, NamedTuple

from tenure.core.signals import ForeignMessages, JobsReminded, MessagesSent, NoMessage, Signal

SPOKEN_OF = frozenset({ForeignMessages, JobsReminded, MessagesSent, NoMessage})
"""The signals that are told of here; of what is received only metrics tell."""


class MessageEntry(NamedTuple):
    """An entry without its time and worker."""

    level: str
    event: str
    fields: dict[str, Any]


def message_entry(signal: Signal) -> MessageEntry | None:
    """The entry for a signal; None if it is not worth one."""
    match signal:
        case ForeignMessages(store, count):
            return MessageEntry("warning", "messages.foreign", {"store": store, "count": count})
        case NoMessage(beginning):
            fields = {"reason": beginning.decode(errors="backslashreplace")}
            return MessageEntry("warning", "messages.unreadable", fields)
        case MessagesSent(failed=failed, error=error) if error:
            return MessageEntry("warning", "messages.unsent", {"count": failed, "reason": error})
        case JobsReminded(count):
            return MessageEntry("info", "messages.reminded", {"count": count})
    return None
