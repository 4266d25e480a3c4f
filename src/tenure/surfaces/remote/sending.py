"""How a request is put to httpx, whichever of its clients carries it."""

import ssl
from collections.abc import MutableMapping
from typing import Any

import httpx

from tenure.surfaces.remote.address import checked_key, checked_url
from tenure.surfaces.remote.errors import Untrusted
from tenure.surfaces.remote.wire import Request
from tenure.version import __version__

_CONNECT_SECONDS = 5.0


class Server:
    """Where requests go, and by which key. The key is in no request as a value, and shown by nothing."""

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

    def manner(self) -> dict[str, Any]:
        """How a client of httpx is made: redirects are not followed, since the key would go along.

        Proxies of the environment are made use of where they see no more than a tunnel, and not where the
        key would pass through them for all to read.
        """
        return {
            "headers": self._headers,
            "follow_redirects": False,
            "verify": self._trust(),
            "trust_env": self._is_encrypted,
        }

    def words(self, request: Request, silence: MutableMapping[str, float]) -> dict[str, Any]:
        """A request in the words of httpx; `silence` is for how long nothing may come, and may be changed."""
        return {
            "method": request.method,
            "url": self.url + request.path,
            "params": request.query or None,
            "headers": request.headers,
            "content": request.body,
            "extensions": {"timeout": silence},
        }

    @property
    def _is_encrypted(self) -> bool:
        return self.url.startswith("https:")

    def _trust(self) -> ssl.SSLContext:
        """Whom to trust. Where nothing is encrypted nobody, which spares reading all certificates."""
        if not self._is_encrypted:
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            return httpx.create_ssl_context()
        except OSError as error:
            raise Untrusted(self.url, f"SSL_CERT_FILE or SSL_CERT_DIR cannot be read: {error}") from None


def bounded(seconds: float) -> dict[str, float]:
    """For how long nothing may come until an answer begins, by what is waited for."""
    return {"connect": min(seconds, _CONNECT_SECONDS), "read": seconds, "write": seconds, "pool": seconds}
