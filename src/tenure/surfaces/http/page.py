"""The page `/docs`: the OpenAPI document and the kinds of problems for people. It loads nothing."""

import re
from base64 import b64encode
from collections.abc import Iterable
from functools import cache
from hashlib import sha256
from html import escape

from tenure.surfaces.http.openapi import document
from tenure.surfaces.http.problems import KINDS
from tenure.surfaces.http.routes import JSON, Route
from tenure.surfaces.http.table import ROUTES
from tenure.surfaces.http.wording import Schema, Wording

_STYLE = """
:root{color-scheme:light dark;--text:#1b1f24;--soft:#57606a;--line:#d7dce2;--ground:#fff;--raised:#f5f7f9;
--accent:#0b5fb0;--get:#0b5fb0;--post:#1a7f37;--put:#8a5a00}
@media (prefers-color-scheme:dark){:root{--text:#e4e8ec;--soft:#9aa5b1;--line:#333b45;--ground:#14181d;
--raised:#1c2229;--accent:#6cb2ff;--get:#6cb2ff;--post:#57c26f;--put:#e0af4b}}
*{box-sizing:border-box}
body{font:16px/1.55 system-ui,sans-serif;color:var(--text);background:var(--ground);max-width:56rem;
margin:0 auto;padding:1.5rem 1rem 6rem}
a{color:var(--accent)}code{font:.92em/1.4 ui-monospace,monospace;overflow-wrap:anywhere}
h1{margin:0 0 .25rem;font-size:1.7rem}h2{margin:3rem 0 .5rem;font-size:1.3rem}
nav ul,ul.answers{list-style:none;padding:0;margin:.5rem 0}nav li{display:inline-block;margin-right:1.25rem}
article{border-top:1px solid var(--line);padding:1rem 0}
article h3{margin:0;font-size:1.05rem;font-weight:600}article p{margin:.35rem 0}
.method{display:inline-block;min-width:3.2rem;margin-right:.4rem;color:var(--get);font-weight:700;font-size:.9em}
.post{color:var(--post)}.put{color:var(--put)}
.soft{color:var(--soft)}.scope{color:var(--soft);font-size:.88rem;font-weight:400;margin-left:.6rem}
table{border-collapse:collapse;width:100%;margin:.5rem 0;font-size:.92rem}
caption{text-align:left;color:var(--soft);font-size:.85rem;padding-bottom:.15rem}
th,td{text-align:left;vertical-align:top;padding:.3rem .75rem .3rem 0;border-top:1px solid var(--line)}
th{font-weight:400;width:30%}tr:target{background:var(--raised)}
@media (max-width:34rem){.method{min-width:0}.scope{display:block;margin-left:0}
tr{display:flex;flex-wrap:wrap;gap:0 .75rem;padding:.3rem 0;border-top:1px solid var(--line)}
th,td{width:auto;border-top:0;padding:0}}
"""
_CODE = re.compile("`([^`]*)`")
TITLES = {
    "client": "For clients",
    "operator": "For operators and services",
    "worker": "For workers in any language",
    "process": "Of the process",
}


@cache
def page() -> str:
    """The page."""
    links = "".join(f'<li><a href="#{audience}">{title}</a></li>' for audience, title in TITLES.items())
    sections = "".join(_section(audience, title) for audience, title in TITLES.items())
    shapes = "".join(_shape(name, schema) for name, schema in _parts().items())
    problems = "".join(
        f'<tr id="{name}"><th><code>{name}</code></th><td>{kind.status}</td>'
        f"<td>{escape(kind.title)}</td></tr>"
        for name, kind in KINDS.items()
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Tenure</title>'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<style>{_STYLE}</style></head><body><header><h1>Tenure</h1>"
        '<p class="soft">Durable background jobs over HTTP. The same for programs: '
        f'<a href="/openapi.json">/openapi.json</a>.</p><nav><ul>{links}'
        '<li><a href="#parts">Parts of bodies</a></li><li><a href="#problems">Problems</a></li></ul></nav>'
        f'</header><main>{sections}<section><h2 id="parts">Parts of bodies</h2>{shapes}</section>'
        '<section><h2 id="problems">Problems</h2><p>Whatever is not done is answered with '
        "<code>application/problem+json</code>, and its <code>type</code> leads here. A call names those of "
        "its own; the others are what any request may meet.</p>"
        f"<table>{problems}</table></section></main></body></html>"
    )


@cache
def policy() -> str:
    """What a browser may do with the page: show it in its own style."""
    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'; base-uri 'none'"


def _section(audience: str, title: str) -> str:
    calls = "".join(_call(route) for route in ROUTES if route.audience == audience)
    return f'<section><h2 id="{audience}">{title}</h2>{calls}</section>'


def _call(route: Route) -> str:
    told = document()["paths"][route.path][route.method.lower()]
    scope = f"needs {' or '.join(route.scopes)}" if route.scopes else "open to all"
    parameters = [(one["name"], one["schema"], one.get("description", "")) for one in told["parameters"]]
    body = told.get("requestBody", {}).get("content", {}).get(JSON, {}).get("schema")
    tables = _table("in the address", parameters) + (
        "" if body is None else _table("in the body", _fields(body))
    )
    return (
        f'<article><h3><span class="method {route.method.lower()}">{route.method}</span>'
        f'<code>{escape(route.path)}</code><span class="scope">{scope}</span></h3>'
        f"<p>{escape(route.summary)}.</p>{tables}{_answers(route)}</article>"
    )


def _answers(route: Route) -> str:
    done = ", ".join(str(status) for status in route.answers)
    own = [f'{KINDS[kind].status} <a href="#{kind}">{kind}</a>' for kind in route.problems]
    return f'<p class="soft">Answers {"; ".join([done, *own])}</p>'


@cache
def _wording() -> Wording:
    return Wording(document()["components"]["schemas"])


def _fields(schema: Schema) -> list[tuple[str, Schema, str]]:
    whole = _wording().resolved(schema)
    required = whole.get("required", ())
    return [
        (name, field, "required" if name in required else "")
        for name, field in whole.get("properties", {}).items()
    ]


def _parts() -> dict[str, Schema]:
    """Objects that stand within bodies, by their names."""
    bodies = [{"$ref": f"#/{route.body.__name__}"} for route in ROUTES if route.body is not None]
    fields = [field for body in bodies for _, field, _ in _fields(body)]
    objects = [part for field in fields for part in (field, field.get("items", {})) if "$ref" in part]
    return {_wording().kind(part): part for part in objects if _fields(part)}


def _shape(name: str, schema: Schema) -> str:
    said = escape(_wording().resolved(schema).get("description", ""))
    return f'<article id="{name}"><h3>{name}</h3><p>{said}</p>{_table("", _fields(schema))}</article>'


def _table(title: str, rows: Iterable[tuple[str, Schema, str]]) -> str:
    cells = "".join(
        f"<tr><th><code>{escape(name)}</code></th><td>{_said(said)}"
        f'<span class="soft">{escape(_wording().kind(schema))}</span></td></tr>'
        for name, schema, said in rows
    )
    caption = f"<caption>{title}</caption>" if title else ""
    return f"<table>{caption}{cells}</table>" if cells else ""


def _said(text: str) -> str:
    """What is said of a value, with what is written as code shown as such."""
    shown = _CODE.sub(r"<code>\1</code>", escape(text))
    return f"{shown}: " if text else ""
