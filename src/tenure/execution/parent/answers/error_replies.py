"""The reply that raises an error in the handler that has asked."""

from tenure.core.errors import InvalidParams, TenureError
from tenure.execution.protocol.messages import ErrorReply


def error_reply(number: int, error: TenureError) -> ErrorReply:
    """The reply with an error; what is wrong with params is passed on in pairs."""
    problems = error.problems if isinstance(error, InvalidParams) else None
    arguments = [[*problems] if value is problems and problems else str(value) for value in error.args]
    return ErrorReply(number, type(error).__name__, arguments)
