"""The page `/docs`: the OpenAPI document and the kinds of problems, for people. It loads nothing."""

import re
from base64 import b64encode
from collections.abc import Collection, Iterable, Mapping
from functools import cache
from hashlib import sha256
from html import escape
from typing import Any

from tenure.api.problem import KINDS
from tenure.surfaces.http.app.routes import JSON, Route
from tenure.surfaces.http.docs.schema_text import Schema, SchemaText, details

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
_HEAD = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Tenure</title>'
    '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
    f"<style>{_STYLE}</style></head>"
)
_CODE = re.compile("`([^`]*)`")
TITLES = {
    "client": "For clients",
    "operator": "For operators and services",
    "worker": "For workers in any language",
    "process": "Of the process",
}


def page(routes: Collection[Route], document: Mapping[str, Any]) -> str:
    """The page of these routes; `document` is what `openapi` makes of them."""
    return _DocsPage(routes, document).text()


@cache
def policy() -> str:
    """The Content-Security-Policy of the page: its own style, and nothing else."""
    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; frame-ancestors 'none'; base-uri 'none'"


class _DocsPage:
    def __init__(self, routes: Collection[Route], document: Mapping[str, Any]) -> None:
        self._routes = routes
        self._paths = document["paths"]
        self._wording = SchemaText(document["components"]["schemas"])

    def text(self) -> str:
        links = "".join(f'<li><a href="#{audience}">{title}</a></li>' for audience, title in TITLES.items())
        sections = "".join(self._section(audience, title) for audience, title in TITLES.items())
        shapes = "".join(self._shape(name, schema) for name, schema in self._parts().items())
        problems = "".join(
            f'<tr id="{name}"><th><code>{name}</code></th><td>{kind.status}</td>'
            f"<td>{escape(kind.title)}</td></tr>"
            for name, kind in KINDS.items()
        )
        return (
            f"{_HEAD}<body><header><h1>Tenure</h1>"
            '<p class="soft">Durable background jobs over HTTP. The same for programs: '
            f'<a href="/openapi.json">/openapi.json</a>.</p><nav><ul>{links}'
            '<li><a href="#parts">Parts of bodies</a></li><li><a href="#problems">Problems</a></li>'
            f"</ul></nav></header><main>{sections}"
            f'<section><h2 id="parts">Parts of bodies</h2>{shapes}</section>'
            '<section><h2 id="problems">Problems</h2><p>A request that is not done is answered with '
            "<code>application/problem+json</code>, and its <code>type</code> links here. Each call lists "
            "its own problems; any request may meet the others.</p>"
            f"<table>{problems}</table></section></main></body></html>"
        )

    def _section(self, audience: str, title: str) -> str:
        calls = "".join(self._call(route) for route in self._routes if route.audience == audience)
        return f'<section><h2 id="{audience}">{title}</h2>{calls}</section>'

    def _call(self, route: Route) -> str:
        operation = self._paths[route.path][route.method.lower()]
        scope = f"needs {' or '.join(route.scopes)}" if route.scopes else "open to all"
        parameters = [
            (one["name"], one["schema"], one.get("description", "")) for one in operation["parameters"]
        ]
        body = operation.get("requestBody", {}).get("content", {}).get(JSON, {}).get("schema")
        tables = self._table("in the address", parameters)
        if body is not None:
            tables += f"<p>{_with_code(self._wording.about(body))}</p>"
            tables += self._table("in the body", self._fields(body))
        return (
            f'<article><h3><span class="method {route.method.lower()}">{route.method}</span>'
            f'<code>{escape(route.path)}</code><span class="scope">{scope}</span></h3>'
            f"<p>{escape(route.summary)}. {_with_code(details(operation['description']))}</p>"
            f"{tables}{_answers(route)}</article>"
        )

    def _fields(self, schema: Schema) -> list[tuple[str, Schema, str]]:
        whole = self._wording.resolved(schema)
        required = whole.get("required", ())
        return [
            (name, field, "required" if name in required else "")
            for name, field in whole.get("properties", {}).items()
        ]

    def _parts(self) -> dict[str, Schema]:
        """Objects inside bodies, by name."""
        bodies = [{"$ref": f"#/{route.body.__name__}"} for route in self._routes if route.body is not None]
        fields = [field for body in bodies for _, field, _ in self._fields(body)]
        objects = [part for field in fields for part in (field, field.get("items", {})) if "$ref" in part]
        return {self._wording.kind(part): part for part in objects if self._fields(part)}

    def _shape(self, name: str, schema: Schema) -> str:
        description = _with_code(self._wording.about(schema))
        fields = self._table("", self._fields(schema))
        return f'<article id="{name}"><h3>{name}</h3><p>{description}</p>{fields}</article>'

    def _table(self, title: str, rows: Iterable[tuple[str, Schema, str]]) -> str:
        cells = "".join(
            f"<tr><th><code>{escape(name)}</code></th><td>{f'{_with_code(text)}: ' if text else ''}"
            f'<span class="soft">{escape(self._wording.kind(schema))}</span></td></tr>'
            for name, schema, text in rows
        )
        caption = f"<caption>{title}</caption>" if title else ""
        return f"<table>{caption}{cells}</table>" if cells else ""


def _answers(route: Route) -> str:
    done = ", ".join(str(status) for status in route.answers)
    own = [f'{KINDS[kind].status} <a href="#{kind}">{kind}</a>' for kind in route.problems]
    return f'<p class="soft">Answers {"; ".join([done, *own])}</p>'


def _with_code(text: str) -> str:
    """A text as HTML, with what is backquoted as code."""
    return _CODE.sub(r"<code>\1</code>", escape(text))
