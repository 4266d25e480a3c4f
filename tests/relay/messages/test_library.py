"""A program that enqueues by the library sends messages, where its settings say so."""

from tenure import Tenure
from tenure.relay.messages import body
from tenure.settings.settings import Settings
from tenure.storage.contract.store import Store
from tests.relay.messages.sqs_server import Queue
from tests.until import until


async def test_what_the_library_records_is_named_by_a_message(
    store: Store, address: str, queue: Queue
) -> None:
    """S2.4."""
    app = Tenure(settings=Settings(database=address, transport="sqs", sqs_queue_url=queue.url))

    @app.job("mail")
    def mail(params: dict[str, int]) -> None:
        """Does nothing."""

    jobs = {(await mail.enqueue({"n": n})).id for n in range(12)}
    named = set()

    async def are_all_named() -> bool:
        for text in await queue.drain():
            message = body.read(text.encode())
            assert message is not None
            assert message.store == await store.store_id()
            named.add(message.job_id)
        return named == jobs

    await until(are_all_named)
    await app.close()
