"""A command that puts a job in line sends a message for it, where the settings say so."""

import asyncio
import subprocess
from pathlib import Path

from tenure.core.model.spec import Spec
from tenure.core.model.states import State
from tenure.engine.client.registration import save_definitions
from tenure.relay.messages import body
from tenure.storage.contract.store import Store
from tests.relay.messages.sqs_server import Queue, SqsServer
from tests.storage.verbs import job_in
from tests.surfaces.command import fails, tenure


async def test_what_a_command_puts_in_line_is_named_by_a_message(
    store: Store, address: str, queue: Queue, shared_server: SqsServer, tmp_path: Path
) -> None:
    """S2.4: new or replayed. Where it cannot be sent that is said once, and the job is recorded."""
    await save_definitions(store, [Spec(key="mail"), Spec(key="failed")], "test")
    failed = await job_in(store, State.FAILED)
    given = {**shared_server.variables, "TENURE_TRANSPORT": "sqs", "TENURE_SQS_QUEUE_URL": queue.url}

    async def run(*command: str, **changed: str) -> subprocess.CompletedProcess[str]:
        variables = {**given, "TENURE_DATABASE": address, **changed}
        return await asyncio.to_thread(lambda: tenure(tmp_path, *command, **variables))

    made = await run("enqueue", "mail")
    assert (made.returncode, made.stderr) == (0, "")
    again = await run("jobs", "replay", str(failed))
    assert again.returncode == 0, again
    messages = [body.read(text.encode()) for text in await queue.drain()]
    named = {str(one.job_id) for one in messages if one is not None}
    assert len(named) == 2
    assert made.stdout.strip() in named

    unsent = await run("enqueue", "mail", TENURE_SQS_QUEUE_URL=f"{queue.url}-elsewhere")
    assert unsent.returncode == 0
    assert unsent.stdout.strip() != made.stdout.strip()
    assert unsent.stderr.startswith("warning: no message sent, so a worker finds the job later: SQS, send_")
    assert len(unsent.stderr.splitlines()) == 1
    assert await queue.drain() == []


def test_a_worker_that_is_given_a_queue_and_would_not_receive_from_it_is_refused(tmp_path: Path) -> None:
    queue = "http://127.0.0.1:9/000000000000/jobs"
    ran = tenure(tmp_path, "worker", "app:app", "--sqs-queue-url", queue)
    assert fails(ran, 2, "transport: is database", "give --transport sqs as well")
