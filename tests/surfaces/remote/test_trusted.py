"""Whom a client speaks to: by certificates that it trusts, and through proxies that cannot read the key."""

import asyncio
from pathlib import Path

import pytest

from tenure import State, Unreachable, Untrusted
from tenure.core.values import key_text
from tenure.storage.contract.store import Store
from tests.storage.verbs import claim, settle, succeeded
from tests.surfaces.http.http_server import Api
from tests.surfaces.remote.restartable_server import (
    PATIENCE,
    Certificate,
    answer,
    between,
    open_client,
    scripted,
)

HERE = "IP:127.0.0.1"


async def test_over_tls_a_server_is_asked_as_ever(
    api: Api, store: Store, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S0.41: with an authority of one's own, and through cuts."""
    made = Certificate(tmp_path, HERE)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    async with (
        asyncio.timeout(PATIENCE),
        between(port_of(api.server.url), made.tls) as proxy,
        open_client(kind, proxy.url) as client,
    ):
        proxy.cuts = ["before", "after", "head", "body"]
        job = await client.create("mail", {"to": "ada"})
        await settle(store, [succeeded(owned, '{"sent":1}') for owned in await claim(store)])
        assert await client.wait(job) == {"sent": 1}
        assert [event.type async for event in client.events(job)] == ["queued", "started", "succeeded"]
        assert [listed.job_id async for listed in client.list(status=State.SUCCEEDED)] == [job.job_id]
        assert proxy.made == 4


@pytest.mark.parametrize(
    ("name", "is_known", "reason"),
    [(HERE, False, "self-signed certificate"), ("DNS:elsewhere.example", True, "127.0.0.1")],
    ids=["nobody's", "another's"],
)
async def test_a_certificate_that_proves_nothing_is_told_at_once(
    kind: str, name: str, is_known: bool, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With its cause; nothing is sent, and nobody tries again for as long as the client has patience."""
    made = Certificate(tmp_path, name)
    if is_known:
        monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    async with scripted(None, tls=made.tls) as script, open_client(kind, script.url, timeout=9) as client:
        for asking in (client.create("mail"), anext(client.events())):
            with pytest.raises(Untrusted, match=reason) as error:
                await asking
            assert script.url in str(error.value)
    assert script.requests == []


async def test_who_does_not_speak_tls_is_told_at_once(api: Api, kind: str) -> None:
    async with open_client(kind, api.server.url.replace("http:", "https:")) as client:
        with pytest.raises(Untrusted, match="SSL"):
            await client.create("mail")


async def test_who_goes_away_before_tls_is_agreed_upon_may_come_back(
    api: Api, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again, for as long as the client has patience."""
    made = Certificate(tmp_path, HERE)
    monkeypatch.setenv("SSL_CERT_FILE", str(made.file))
    async with between(port_of(api.server.url), made.tls) as secure, between(port_of(secure.url)) as proxy:
        url = proxy.url.replace("http:", "https:")
        proxy.cuts = ["before"] * 2
        async with open_client(kind, url) as client:
            await client.create("mail", {"to": "ada"})
        assert proxy.made == 2
        proxy.cuts = ["before"] * 1000
        async with open_client(kind, url, timeout=1) as client:
            with pytest.raises(Unreachable):
                await client.create("mail", {"to": "ada"})


def port_of(url: str) -> int:
    return int(url.rpartition(":")[2])


async def test_authorities_that_cannot_be_read_are_named(
    kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    async with open_client(kind, "https://127.0.0.1:1") as client:
        with pytest.raises(Untrusted, match="SSL_CERT_FILE"):
            await client.create("mail")


async def test_no_proxy_reads_the_key(kind: str, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the environment is passed by where nothing is encrypted, and is only a tunnel elsewhere."""
    key = key_text.mint().text
    async with scripted(answer(502, b"")) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
            monkeypatch.setenv(name.lower(), proxy.url)
        monkeypatch.delenv("NO_PROXY", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        async with open_client(kind, api.server.url, timeout=9) as client:
            await client.create("mail")
        assert proxy.requests == []
        async with open_client(kind, "https://jobs.example", key, timeout=1) as client:
            with pytest.raises(Unreachable):
                await client.create("mail")
        assert proxy.requests
        assert all(request.startswith(b"CONNECT jobs.example:443 ") for request in proxy.requests)
        assert not any(b"uthorization" in request or key.encode() in request for request in proxy.requests)
