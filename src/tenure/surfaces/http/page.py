"""The page `/docs`: the table of routes and the kinds of problems for people. It loads nothing."""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape

from tenure.surfaces.http.problems import KINDS
from tenure.surfaces.http.routes import Route
from tenure.surfaces.http.table import ROUTES

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;vertical-align:top;
border-bottom:1px solid #8884}code{font-size:.95em}h2{margin-top:2.5rem}:root{color-scheme:light dark}
"""
_TITLES = {"client": "For clients", "operator": "For operators and services", "process": "Of the process"}


@cache
def page() -> str:
    """The page."""
    sections = "".join(_section(audience, title) for audience, title in _TITLES.items())
    problems = "".join(
        f'<tr id="{name}"><td><code>{name}</code></td>'
        f"<td>{kind.status}</td><td>{escape(kind.title)}</td></tr>"
        for name, kind in KINDS.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Tenure</title>'
        f"<style>{_STYLE}</style></head><body><h1>Tenure</h1><p>The same for programs: "
        f'<a href="/openapi.json">/openapi.json</a>.</p>{sections}<h2>Problems</h2>'
        "<p>Whatever is not done is answered with <code>application/problem+json</code>, and its "
        "<code>type</code> leads here.</p>"
        f"<table><tr><th>kind</th><th>status</th><th></th></tr>{problems}</table></body></html>"
    )


@cache
def policy() -> str:
    """What a browser may do with the page: show it in its own style."""
    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'; base-uri 'none'"


def _section(audience: str, title: str) -> str:
    rows = "".join(_row(route) for route in ROUTES if route.audience == audience)
    return (
        f"<h2>{title}</h2><table><tr><th>call</th><th></th><th>answers</th><th>scope</th></tr>{rows}</table>"
    )


def _row(route: Route) -> str:
    parameters = "".join(
        f"<br><code>{escape(parameter.name)}</code> {escape(parameter.text)}"
        for parameter in route.parameters
    )
    statuses = sorted({*route.answers, *(KINDS[kind].status for kind in route.kinds)})
    return (
        f"<tr><td><code>{route.method} {escape(route.path)}</code></td>"
        f"<td>{escape(route.summary)}{parameters}</td>"
        f"<td>{' '.join(map(str, statuses))}</td><td>{' or '.join(route.scopes)}</td></tr>"
    )
