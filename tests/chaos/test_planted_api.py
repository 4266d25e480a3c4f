"""A server that breaks a promise on purpose, and the checker sees it; a sound one does no harm."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest

from chaos import history
from chaos.checker import check
from chaos.client import Client
from chaos.evidence import Terms, gather
from chaos.http_store import HttpStore
from chaos.load import Wanted
from tenure.core.documents import write
from tenure.core.job import Enqueued, NewJob
from tenure.core.spec import Spec
from tenure.engine.client import Client as Engine
from tenure.storage.contract import Store
from tests.surfaces.http.serving import register, serving

SERVERS = {"a server that takes any params for a key": {"I4"}}


async def told(store: Store, folder: Path) -> set[str]:
    """What is broken after a key was sent twice with different params."""
    await register(store, Spec(key="mail"))
    async with serving(store) as api:
        speaking = HttpStore(lambda: api.server.url)
        client = Client(cast("Store", speaking), folder / "history", _job)
        await client.enqueue([Wanted("k", "mail", {"to": "ada"})])
        await client.attempt([Wanted("k", "mail", {"to": "bob"})])
        await client.enqueue([Wanted("k", "mail", {"to": "ada"})])
        client.close()
        await speaking.close()
    calls = history.read(folder / "history")
    assert len(calls) == 3
    return {one.invariant for one in check(await gather(store, Terms(quiet=False), history=calls))}


def _job(wanted: Wanted) -> NewJob:
    return NewJob(definition=wanted.definition, params=write(wanted.params), key=wanted.key)


async def test_a_sound_server_stands_it(store: Store, tmp_path: Path) -> None:
    assert await told(store, tmp_path) == set()


async def test_a_server_that_takes_any_params_for_a_key_is_noticed(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look_away(_self: Engine, _jobs: Sequence[NewJob], _answers: Sequence[Enqueued]) -> None:
        """Whatever was sent with a key is as good as anything."""

    monkeypatch.setattr(Engine, "check_keys", look_away)
    [(_, broken)] = SERVERS.items()
    assert await told(store, tmp_path) == broken
