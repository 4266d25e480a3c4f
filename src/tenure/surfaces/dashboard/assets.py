"""The files that pages load: script, stylesheet, fonts and icon, each with its content's hash in its name.

The script is several files joined in order: htmx starts by itself once the page is parsed, and an extension
in its own file could come too late for that.
"""

from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import NamedTuple

from tenure.surfaces.http.app.context import AppContext, Request, Response
from tenure.surfaces.http.app.problems import Refusal

PLACE = "/ui/static/"
_FONTS = ("inter.woff2", "jetbrains-mono.woff2")
_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}
_MADE_OF = {
    "dashboard.js": ("vendor/htmx.min.js", "vendor/hx-sse.min.js", "static/dashboard.js"),
    "dashboard.css": ("static/dashboard.css",),
    "icon.svg": ("static/icon.svg",),
    **{name: (f"static/fonts/{name}",) for name in _FONTS},
}
_MEDIA_TYPES = {
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
    "woff2": "font/woff2",
}


class Asset(NamedTuple):
    """A file as it is served."""

    name: str
    media_type: str
    body: bytes


async def static(_context: AppContext, request: Request) -> Response:
    """A file that pages load. It never changes: other content has another name."""
    asset = _by_name().get(request.path["name"])
    if asset is None:
        raise Refusal("not-found", "there is no such file")
    return Response(200, asset.body, _FOR_EVER, asset.media_type)


def address(name: str) -> str:
    """The path of a file, by its plain name."""
    return f"{PLACE}{_assets()[name].name}"


@cache
def _assets() -> Mapping[str, Asset]:
    return {name: _built(name, parts) for name, parts in _MADE_OF.items()}


@cache
def _by_name() -> Mapping[str, Asset]:
    return {asset.name: asset for asset in _assets().values()}


def _built(name: str, parts: tuple[str, ...]) -> Asset:
    package = files(__package__)
    body = b"\n".join(package.joinpath(part).read_bytes() for part in parts)
    if name.endswith(".css"):
        for font in _FONTS:  # they stand beside the sheet, under names that change with their content
            body = body.replace(f"fonts/{font}".encode(), _built(font, _MADE_OF[font]).name.encode())
    stem, _, kind = name.partition(".")
    return Asset(f"{stem}-{sha256(body).hexdigest()[:16]}.{kind}", _MEDIA_TYPES[kind], body)
