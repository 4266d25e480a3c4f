"""A program keeps its state in a file, which outlives its attempt."""

from pathlib import Path
from typing import Any

from tenure.core.model.states import State
from tenure.storage.contract.store import Store
from tests.until import until
from tests.worker.durable_app import entries
from tests.worker.interfering_store import InterferingStore
from tests.worker.running_worker import reach
from tests.worker.serving_app import serving_app
from tests.worker.test_durable import TARGET, Verb, enqueue


async def test_a_program_that_fails_finds_the_state_it_has_left(store: Store, tmp_path: Path) -> None:
    """S0.7, S0.6: without a line of Python."""
    ledger = tmp_path / "ledger"
    async with serving_app(store, TARGET):
        job = await enqueue(store, "program.counts", {"ledger": str(ledger)})
        done = await reach(store, job, State.SUCCEEDED, State.FAILED)
    assert (done.state, done.result, done.attempt) == (State.SUCCEEDED, "3", 3)
    assert entries(ledger) == ["1", "2", "3"]


async def test_the_state_of_a_program_is_saved_while_it_runs(store: Store, tmp_path: Path) -> None:
    """S0.7: it is killed, and leaves no word."""
    ledger = tmp_path / "ledger"
    saved: list[Any] = []
    interfering = InterferingStore(store)

    def noting(call: Verb) -> Verb:
        async def save(worker: str, checkpoints: Any) -> Any:
            answer = await call(worker, checkpoints)
            saved.extend(checkpoints)
            return answer

        return save

    interfering.interferences["save_checkpoints"] = noting
    async with serving_app(interfering.store, TARGET):
        job = await enqueue(store, "program.waits", {"ledger": str(ledger)})
        await until(lambda: bool(saved))
        ledger.touch()
        done = await reach(store, job, State.SUCCEEDED, State.FAILED)
    assert (done.state, done.result, done.attempt) == (State.SUCCEEDED, '{"page":7}', 2)


async def test_a_state_that_is_no_json_is_told_and_not_saved(store: Store) -> None:
    async with serving_app(store, TARGET):
        job = await enqueue(store, "program.scribbles", {})
        await reach(store, job, State.SUCCEEDED)
    [(_, line)] = await store.logs(job)
    assert "was not saved" in line.text
    assert "is not JSON" in (line.fields or "")
