"""Limits of one HTTP request, one connection, and all of them together: a part of the settings."""

from msgspec import Struct


class HttpLimits(Struct, frozen=True, kw_only=True):
    """The limits of an HTTP server. `Settings` has them all, and checks them against `HTTP_BOUNDS`.

    `http_large_bodies` counts the bytes of all large bodies together, `http_request_seconds` the work on one
    request.
    """

    http_connections: int = 512
    http_streams: int = 128
    http_streams_per_key: int = 32
    http_body_bytes: int = 2**20
    http_batch_bytes: int = 16 * 2**20
    http_large_bodies: int = 64 * 2**20
    http_head_bytes: int = 16_384
    http_url_bytes: int = 8192
    http_headers: int = 100
    http_rest_seconds: float = 15.0
    http_head_seconds: float = 10.0
    http_body_seconds: float = 60.0
    http_write_seconds: float = 60.0
    http_request_seconds: float = 10.0


HTTP_BOUNDS: dict[str, tuple[float, float]] = {
    "http_connections": (1, 65_536),
    "http_streams": (0, 65_536),
    "http_streams_per_key": (1, 65_536),
    "http_body_bytes": (1024, 2**26),
    "http_batch_bytes": (1024, 2**28),
    "http_large_bodies": (0, 2**32),
    "http_head_bytes": (1024, 2**20),
    "http_url_bytes": (256, 2**16),
    "http_headers": (8, 10_000),
    "http_rest_seconds": (1, 3600),
    "http_head_seconds": (1, 3600),
    "http_body_seconds": (1, 3600),
    "http_write_seconds": (1, 3600),
    "http_request_seconds": (0.1, 600),
}
"""The smallest and the largest value of each."""
