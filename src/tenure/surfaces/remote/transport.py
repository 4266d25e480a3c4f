"""The arguments for httpx, for either of its clients."""

import ssl
from collections.abc import MutableMapping
from typing import Any

import httpx

from tenure.surfaces.remote.address import checked_key, checked_url
from tenure.surfaces.remote.errors import Untrusted
from tenure.surfaces.remote.wire import WireRequest
from tenure.version import __version__

_CONNECT_SECONDS = 5.0


class ServerAddress:
    """Where requests go, and with which key. Only the headers hold the key, so that no `repr` shows it."""

    def __init__(self, url: str, key: str | None) -> None:
        self.url = checked_url(url)
        self._headers = httpx.Headers(
            {
                "accept": "application/json",
                "accept-encoding": "identity",
                "user-agent": f"tenure/{__version__}",
            }
        )
        if (checked := checked_key(key)) is not None:
            self._headers["authorization"] = f"Bearer {checked}"

    def client_options(self) -> dict[str, Any]:
        """The options of an httpx client. It follows no redirects: the key would go along.

        It uses proxies from the environment for https only, where they carry an encrypted tunnel. With plain
        http they could read the key.
        """
        return {
            "headers": self._headers,
            "follow_redirects": False,
            "verify": self._trust(),
            "trust_env": self._is_encrypted,
        }

    def request_arguments(self, request: WireRequest, timeouts: MutableMapping[str, float]) -> dict[str, Any]:
        """The arguments of a request; `timeouts` may be changed while it runs."""
        return {
            "method": request.method,
            "url": self.url + request.path,
            "params": request.query or None,
            "headers": request.headers,
            "content": request.body,
            "extensions": {"timeout": timeouts},
        }

    @property
    def _is_encrypted(self) -> bool:
        return self.url.startswith("https:")

    def _trust(self) -> ssl.SSLContext:
        """Which certificates to trust; none for plain http, which saves loading them all."""
        if not self._is_encrypted:
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            return httpx.create_ssl_context()
        except OSError as error:
            raise Untrusted(self.url, f"SSL_CERT_FILE or SSL_CERT_DIR cannot be read: {error}") from None


def bounded(seconds: float) -> dict[str, float]:
    """The timeouts of httpx until an answer begins."""
    return {"connect": min(seconds, _CONNECT_SECONDS), "read": seconds, "write": seconds, "pool": seconds}
