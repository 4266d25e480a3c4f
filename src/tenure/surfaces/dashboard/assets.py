"""The files that pages load: one script, one stylesheet, one icon, each under a name that tells its content.

The script is several joined in order: htmx begins by itself once the page is read, and an extension in a file
of its own may come too late for that.
"""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from tenure.surfaces.http.desk import Answer, Asked, Desk
from tenure.surfaces.http.problems import Refusal

PLACE = "/ui/static/"
_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}
_MADE_OF = {
    "dashboard.js": (
        *("vendor/htmx.min.js", "vendor/hx-sse.min.js", "vendor/uPlot.iife.min.js"),
        "static/dashboard.js",
    ),
    "dashboard.css": ("vendor/uPlot.min.css", "static/dashboard.css"),
    "icon.svg": ("static/icon.svg",),
}
_MEDIA_TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """A file as it is served: by which name, of which type, and what it holds."""

    name: str
    media_type: str
    body: bytes


async def static(_desk: Desk, asked: Asked) -> Answer:
    """A file that pages load. It never changes: with other content it has another name."""
    asset = _by_name().get(asked.path["name"])
    if asset is None:
        raise Refusal("not-found", "there is no such file")
    return Answer(200, asset.body, _FOR_EVER, asset.media_type)


def address(name: str) -> str:
    """Where a file is found, by its plain name."""
    return f"{PLACE}{_assets()[name].name}"


@cache
def _assets() -> Mapping[str, Asset]:
    return {name: _made(name, parts) for name, parts in _MADE_OF.items()}


@cache
def _by_name() -> Mapping[str, Asset]:
    return {asset.name: asset for asset in _assets().values()}


def _made(name: str, parts: tuple[str, ...]) -> Asset:
    package = files(__package__)
    body = b"\n".join(package.joinpath(part).read_bytes() for part in parts)
    stem, _, kind = name.partition(".")
    return Asset(f"{stem}-{sha256(body).hexdigest()[:16]}.{kind}", _MEDIA_TYPES[kind], body)
