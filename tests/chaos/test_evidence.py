"""Evidence: what is written during a run is read back as it was."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from chaos import history, ledger
from chaos.evidence import (
    Leftovers,
    Outage,
    Reply,
    Secret,
    Stay,
    Terms,
    Watch,
    Writing,
    gather,
    load,
    save,
)
from chaos.history import Call, History
from tenure.core.model.lease import Line
from tenure.storage.contract.store import Store
from tests.storage.clock import Clock
from tests.storage.contract.histories import lives


async def test_evidence_is_read_back_as_it_was_saved(store: Store, clock: Clock, tmp_path: Path) -> None:
    watch = Watch()
    async for _ in lives(store, clock):
        await watch.look(store)
    job = uuid4()
    ledger.write(str(tmp_path / "ledger"), "start", job, 1, 7)
    gathered = await gather(
        store,
        Terms(lease=timedelta(seconds=2), served=frozenset({Line("default", "mail")}), slots=4),
        watch=watch,
        ledger=ledger.read(tmp_path / "ledger"),
        history=[Call(number=1, verb="enqueue", keys=["a"], sent_at=1.5)],
        stays=[Stay(worker="w", pid=1, started_at=0.5)],
        outages=[Outage(1.0, 2.0)],
        leftovers=Leftovers(processes=["12 sleep"]),
        resources={"memory": [(1.0, 2.0)]},
        replies=[Reply(namespace="ours", asked="GET /v1/jobs", status=200, text="{}")],
        marks={"ours": "a word"},
        writings=[Writing("worker-1.log", "text")],
        secrets=[Secret("the key", "text")],
    )
    assert gathered.events
    assert gathered.attempts
    assert any(sighting.job.state.is_final for sighting in gathered.sightings)
    assert any(sighting.job.lease_expires_at for sighting in gathered.sightings)

    save(gathered, tmp_path / "kept")

    assert load(tmp_path / "kept") == gathered


def test_a_call_without_an_answer_is_unknown(tmp_path: Path) -> None:
    job = uuid4()
    with History(tmp_path / "history") as client:
        first = client.sent("enqueue", keys=["a", "b"], batch=True)
        client.answered(first, "acknowledged", jobs=[job], moved=[job])
        client.sent("cancel", asked=[job])
    with (tmp_path / "history").open("a") as file:
        file.write('{"type":"_Answered","number":2,"outc')

    done, open_ = history.read(tmp_path / "history")

    assert (done.outcome, done.keys, done.jobs, done.batch) == ("acknowledged", ["a", "b"], [job], True)
    assert done.answered_at is not None
    assert done.answered_at >= done.sent_at
    assert (open_.verb, open_.asked, open_.outcome, open_.answered_at) == ("cancel", [job], "unknown", None)


def test_a_torn_last_line_of_a_ledger_is_an_error_unless_told_otherwise(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    assert ledger.read(path) == []
    ledger.write(str(path), "start", uuid4(), 1, 7)
    ledger.write(str(path), "end", uuid4(), 1, 8)
    path.write_bytes(path.read_bytes()[:-3])

    with pytest.raises(ledger.Torn):
        ledger.read(path)
    assert [entry.fence for entry in ledger.read(path, torn=True)] == [7]
