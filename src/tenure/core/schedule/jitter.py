"""Jitter: how much later than its tick a job may start, the same on every machine."""

import hashlib
from datetime import datetime, timedelta

_MILLISECOND = timedelta(milliseconds=1)


def jitter_of(schedule: str, tick: datetime, most: timedelta, following: datetime | None) -> timedelta:
    """By how much the job of a tick is delayed: less than `most`, and less than the gap to the next tick."""
    room = most if following is None else min(most, following - tick - _MILLISECOND)
    millis = room // _MILLISECOND
    if millis <= 0:
        return timedelta()
    digest = hashlib.blake2b(f"{schedule}\0{tick.timestamp():.3f}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) % millis * _MILLISECOND
