"""Revisions: a change names the one that it was made from, so that of two who edit at once one is told."""

import re

from tenure.surfaces.http.app.context import Request
from tenure.surfaces.http.app.problems import Refusal

_REVISION = re.compile(r'"?([0-9]{1,9})"?')


def revision_in(request: Request) -> int:
    """The revision that a request changes. Raises Refusal."""
    sent = request.headers.get("if-match")
    if sent is None:
        raise Refusal("revision-required", "send If-Match with the revision, as you have read it")
    found = _REVISION.fullmatch(sent)
    if not found:
        raise Refusal("validation", "If-Match: is not a revision; send the number in quotes, as it was read")
    return int(found[1])
