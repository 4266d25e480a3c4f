"""Somebody with a browser, in words: what it keeps, and what it says of where a form came from."""

import re
from typing import Any, NamedTuple
from urllib.parse import urlencode

from tenure.storage.contract import Store
from tenure.surfaces.dashboard.table import PAGES
from tenure.surfaces.http.table import ROUTES
from tests.surfaces.http.serving import Api, Reply
from tests.surfaces.http.test_keys import make

EVERY = (*ROUTES, *PAGES)
"""What a server offers."""

OWN = {"sec-fetch-site": "same-origin"}
"""What a browser says of a form of the server itself."""

_FORM = {"content-type": "application/x-www-form-urlencoded"}
_TOKEN = re.compile(rb'<meta name="csrf-token" content="([0-9a-f]{64})">')


class Visitor(NamedTuple):
    """A browser that somebody has logged in with, or has not."""

    api: Api
    cookie: str = ""

    @property
    def _cookies(self) -> dict[str, str]:
        # Said even when there is none: the client under it would say something of its own.
        return {"cookie": self.cookie}

    async def get(self, path: str, method: str = "GET", **headers: str) -> Reply:
        """Look at a page."""
        said = {
            "accept": "text/html",
            **self._cookies,
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        return await self.api.call(method, path, headers=said)

    async def token(self) -> str:
        """The token in the forms of a page."""
        found = _TOKEN.search((await self.get("/")).body)
        assert found
        return found[1].decode()

    async def submit(
        self, path: str, fields: Any = (), *, token: str | None = None, headers: dict[str, str] = OWN
    ) -> Reply:
        """Send a form, with the token of a page unless another, or none, is given."""
        given = dict(fields)
        if token is None and path != "/login":
            token = await self.token()
        if token:
            given["csrf"] = token
        said = {"accept": "text/html", **_FORM, **self._cookies, **headers}
        return await self.api.call("POST", path, content=urlencode(given, doseq=True), headers=said)


async def log_in(api: Api, key: str, *, before: str = "") -> Visitor:
    """Somebody who has logged in with a key, from a browser that had a cookie before or none."""
    reply = await Visitor(api, before).submit("/login", {"key": key})
    assert (reply.status, reply.headers["location"]) == (303, "/"), reply
    return Visitor(api, reply.headers["set-cookie"].partition(";")[0])


async def visitor(api: Api, store: Store, *scopes: str, **rest: Any) -> Visitor:
    """Somebody who has logged in with a new key."""
    return await log_in(api, await make(store, *scopes, **rest))
