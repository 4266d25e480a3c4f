"""Plays a browser over plain HTTP: its cookie, and the headers that say where a form came from."""

import re
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.table import PAGES
from tenure.surfaces.http.calls.table import ROUTES
from tests.surfaces.http.auth.test_keys import make
from tests.surfaces.http.http_server import Api, Reply

EVERY = (*ROUTES, *PAGES)
"""All routes of a server."""

OWN = {"sec-fetch-site": "same-origin"}
"""The header of a browser for a form of the server's own pages."""

_FORM = {"content-type": "application/x-www-form-urlencoded"}
_TOKEN = re.compile(rb'<meta name="csrf-token" content="([0-9a-f]{64})">')


class Visitor(NamedTuple):
    """A browser, logged in or not."""

    api: Api
    cookie: str = ""

    @property
    def _cookies(self) -> dict[str, str]:
        # Sent even if it is empty: the HTTP client would otherwise send its own cookies.
        return {"cookie": self.cookie}

    async def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        """Fetch a page."""
        sent = {
            "accept": "text/html",
            **self._cookies,
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        return await self.api.call(method, path, headers=sent)

    async def token(self) -> str:
        """The token in the forms of a page."""
        found = _TOKEN.search((await self.get("/")).body)
        assert found
        return found[1].decode()

    async def submit(
        self, path: str, fields: Any = (), *, token: str | None = None, headers: dict[str, str] = OWN
    ) -> Reply:
        """Send a form, with the token of a page unless another one or none is given."""
        given = dict(fields)
        if token is None and path != "/login":
            token = await self.token()
        if token:
            given["csrf"] = token
        sent = {"accept": "text/html", **_FORM, **self._cookies, **headers}
        return await self.api.call("POST", path, content=urlencode(given, doseq=True), headers=sent)


async def log_in(api: Api, key: str, *, before: str = "") -> Visitor:
    """A browser that is logged in with a key; `before` is the cookie it had."""
    reply = await Visitor(api, before).submit("/login", {"key": key})
    assert (reply.status, reply.headers["location"]) == (303, "/"), reply
    return Visitor(api, reply.headers["set-cookie"].partition(";")[0])


async def visitor(api: Api, store: Store, *scopes: str, **rest: Any) -> Visitor:
    """A browser that is logged in with a new key."""
    return await log_in(api, await make(store, *scopes, **rest))
