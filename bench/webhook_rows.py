"""The rows of the bench of webhooks: how fast they are sent, and what a drain pays for one that waits."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from uuid import UUID, uuid4

from bench import processes
from bench.drain import LONGEST, drain
from bench.figures import Measured, Round, Speed
from bench.loop import run_on
from bench.measure import Contest, compared
from bench.place import Place
from bench.receiver import CountingReceiver, receiving
from bench.rows import Row
from bench.sites import PostgresSite, Site, SqliteSite
from bench.stamps import Stamps
from bench.tenure_worker import TenureQueue
from tenure.core.webhooks.signature import random_secret
from tenure.core.webhooks.webhook import NewWebhook
from tenure.storage.address import open_store

ROOT = Path(__file__).parent.parent
SLOTS = 4
LOOK_EVERY = 0.01
LONGER = 4
"""As many times the jobs of a usual drain: a difference of three in a hundred is to be seen."""

SHARE_SENT = 10
"""Of as many jobs as a drain has, this part is told of."""

_logs = count(1)


def sending_row(at: Place) -> Measured:
    """Jobs are in line, and each of them is told to one receiver: from the first request to the last."""
    found = Measured()
    for site in (_postgres(at, "sending"), SqliteSite(at.sqlite("FULL"))):
        with closing(site), receiving() as receiver:
            rounds = [_one_sending(at, site, receiver) for _ in range(at.size.side_pairs)]
            found += Measured([], [Speed(f"{site.name}: deliveries to one receiver", rounds, "deliveries")])
    return found


def beside_row(at: Place) -> Measured:
    """A drain of jobs that succeed, with a webhook for those that fail, beside a drain without one."""
    return _beside(at, _postgres(at, "beside"))


def beside_sqlite_row(at: Place) -> Measured:
    """The same on SQLite."""
    return _beside(at, SqliteSite(at.sqlite("FULL")))


ROWS: dict[str, Row] = {
    "sending": Row(sending_row, 120),
    "beside": Row(beside_row, 200),
    "beside-sqlite": Row(beside_sqlite_row, 200),
}


def _beside(at: Place, site: PostgresSite | SqliteSite) -> Measured:
    with closing(site):
        queue = TenureQueue(site, at.folder, slots=SLOTS, lane="async")
        contest = Contest(
            partial(_one_drain, at, site, queue, has_webhook=True),
            partial(_one_drain, at, site, queue, has_webhook=False),
            f"{site.name}: drain, lane async, one webhook for `failed`",
            f"{site.name}: drain, lane async, no webhook",
        )
        name = "drain-beside-webhook" + ("" if isinstance(site, PostgresSite) else "-sqlite")
        return compared(name, contest, pairs=at.size.pairs, watch=at.watch, deadline=at.deadline)


def _one_sending(at: Place, site: Site, receiver: CountingReceiver) -> Round:
    jobs = max(1, at.size.telling_jobs // SHARE_SENT)
    webhook = run_on(None, _add(site, receiver.url, "queued"))
    TenureQueue(site, at.folder).fill(jobs, at.folder / "never-run")
    log = at.folder / f"sender-{next(_logs)}.log"
    command = (sys.executable, "-m", "tenure", "scheduler", "--database", site.address)
    environment = {**os.environ, "NO_COLOR": "1", "TENURE_WEBHOOK_ALLOW": "127.0.0.0/8"}
    before, deadline = receiver.count, time.monotonic() + LONGEST
    with processes.started(command, log=log, folder=ROOT, environment=environment) as one:
        _await(lambda: receiver.count > before, deadline)
        first, began, cpu = receiver.count, time.monotonic(), processes.cpu(one.pid)
        _await(lambda: receiver.count >= before + jobs, deadline)
        sent = Round(
            before + jobs - first,
            time.monotonic() - began,
            (processes.cpu(one.pid) or 0.0) - (cpu or 0.0),
            None,
        )
    run_on(None, _delete(site, webhook))
    return sent


def _one_drain(at: Place, site: Site, queue: TenureQueue, *, has_webhook: bool) -> Round:
    webhook = run_on(None, _add(site, "https://example.com/", "failed")) if has_webhook else None
    done = drain(
        queue, Stamps(at.folder / f"webhook-drain-{next(_logs)}"), jobs=LONGER * at.size.telling_jobs
    )
    if webhook is not None:
        run_on(None, _delete(site, webhook))
    return done


async def _add(site: Site, url: str, event: str) -> UUID:
    store = await open_store(site.address)
    try:
        new = NewWebhook(id=uuid4(), url=url, events=(event,))
        return (await store.add_webhook(new, secret=random_secret())).id
    finally:
        await store.close()


async def _delete(site: Site, webhook: UUID) -> None:
    store = await open_store(site.address)
    try:
        await store.delete_webhook(webhook)
    finally:
        await store.close()


def _await(is_true: Callable[[], bool], deadline: float) -> None:
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not all deliveries were sent after {LONGEST:g} s")
        time.sleep(LOOK_EVERY)


def _postgres(at: Place, name: str) -> PostgresSite:
    return PostgresSite(at.postgres.database(f"webhooks_{name}"))
