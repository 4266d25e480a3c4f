"""A replay with other params: hidden values stay as they are unless they are written anew."""

import html
import json
from typing import Any
from uuid import UUID

import pytest

from tenure.api.redaction import USUAL
from tenure.core.errors import InvalidInput
from tenure.core.values.documents import write
from tenure.storage.contract.store import Store
from tenure.surfaces.dashboard.actions.replay_params import merged
from tests.storage.verbs import claim, enqueue_one, found, settle, unrecoverable
from tests.surfaces.dashboard.browser_user import visitor
from tests.surfaces.http.http_server import Api

KNOWN = {
    "order": 7,
    "card": {"token": "tok_1", "no": 4},
    "parts": [{"password": "p1"}, 2],
    "note": "[redacted]",
}
HIDDEN = "[redacted]"


def _merged(given: Any) -> Any:
    return json.loads(merged(write(KNOWN), json.dumps(given), USUAL))


def test_what_was_not_touched_keeps_its_hidden_value() -> None:
    shown = json.loads(USUAL.document(write(KNOWN)))
    assert shown["card"]["token"] == HIDDEN
    assert _merged(shown) == KNOWN
    assert _merged({**shown, "order": 8}) == {**KNOWN, "order": 8}
    assert _merged({"card": {"token": HIDDEN, "no": 5}}) == {"card": {"token": "tok_1", "no": 5}}
    assert _merged({"card": {"token": "new"}}) == {"card": {"token": "new"}}
    assert _merged({"parts": [{"password": HIDDEN}, 3]}) == {"parts": [{"password": "p1"}, 3]}
    assert _merged({"order": True}) == {"order": True}


@pytest.mark.parametrize(
    "given", [{"other": HIDDEN}, {"parts": [{"password": HIDDEN}]}, {"card": HIDDEN}, f"token {HIDDEN}"]
)
def test_a_hidden_value_in_another_place_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput, match="write the value itself"):
        _merged(given)


async def test_a_dead_letter_is_replayed_with_other_params_by_a_form(api: Api, store: Store) -> None:
    """What is refused stands beside the form, with what was written."""
    job = await enqueue_one(store, params=write({"to": "ada"}))
    operator = await visitor(api, store, "operate")
    path = f"/ui/jobs/{job}/replay-with"
    assert (await operator.get(path)).status == 409
    [owned] = await claim(store)
    await settle(store, [unrecoverable(owned)])
    page = html.unescape((await operator.get(path)).body.decode())
    assert '"to": "ada"' in page
    for text, problem in (
        ("{to", "write JSON"),
        ('{"to": 7}', "to"),
        ('{"to": "[redacted]"}', "write the value itself"),
    ):
        refused = await operator.submit(path, {"params": text})
        assert refused.status == 422, text
        said = html.unescape(refused.body.decode())
        assert problem in said[said.index('class="problem"') :]
        assert f">{html.escape(text)}</textarea>" in refused.body.decode().replace("&#34;", "&quot;")
    done = await operator.submit(path, {"params": '{"to": "ann"}'})
    assert done.status == 303
    made = await found(store, UUID(done.headers["location"].rpartition("/")[2]))
    assert (json.loads(made.params), made.replay_of) == ({"to": "ann"}, job)
    again = await operator.submit(path, {"params": '{"to": "bob"}'})
    assert (again.status, "has not ended" in again.body.decode()) == (422, True)
    reader = await visitor(api, store, "read")
    assert (await reader.submit(path, {"params": "{}"})).status == 403
    assert "Replay with these params" not in (await reader.get(path)).body.decode()
    assert not api.bugs
