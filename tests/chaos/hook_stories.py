"""Short lives of webhooks, told on a sound store and on a sabotaged one. What fans events out is real."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import uuid4

from chaos.evidence import Terms, Watch
from chaos.webhooks.told import Hook, Received
from tenure.api.redaction import USUAL
from tenure.core.model.job import NewJob
from tenure.core.reports.retention import Retention
from tenure.core.webhooks.delivery import DeliveryState, DueDelivery, Try
from tenure.core.webhooks.signature import random_secret, signed_headers
from tenure.core.webhooks.webhook import NewWebhook
from tenure.relay.fan_out import FanOut
from tests.chaos.scene import LEASE, Scene
from tests.storage.verbs import MAIL, claim, seconds, settle, succeeded

SHORT = Retention(succeeded=seconds(1), others=seconds(1), keyed=seconds(1), logs=None)
TERMS = Terms(lease=LEASE, served=frozenset({MAIL}), effects=frozenset({"mail"}), retention=SHORT)
HOLD = timedelta(seconds=35)
MOST_TURNS = 20


async def begin(scene: Scene, *events: str) -> Hook:
    """A webhook, and a watch that keeps what happens."""
    scene.watch = Watch(keeps_feed=True)
    return await subscribe(scene, *events)


async def subscribe(scene: Scene, *events: str) -> Hook:
    """One more."""
    secret = random_secret()
    asked = NewWebhook(id=uuid4(), url=f"https://example.com/{len(scene.hooks)}", events=events or ("onEnd",))
    made = await scene.store.add_webhook(asked, secret=secret)
    scene.hooks.append(Hook(asked=asked, after=made.after, secrets=[secret]))
    return scene.hooks[-1]


async def end_job(scene: Scene, name: str) -> None:
    """A job that succeeds."""
    await scene.enqueue({name: NewJob(definition="mail", key=name)})
    for one in await claim(scene.store, "a", lease_for=LEASE):
        scene.wrote(one, "start", "effect", "end")
        await settle(scene.store, [succeeded(one)])
    await scene.wait(1)


async def fan_out(scene: Scene) -> None:
    """Let one process fan out to the end."""
    turns = FanOut(scene.store, "relay", USUAL)
    for _ in range(MOST_TURNS):
        if await turns.turn() != 0.0:
            break
    await turns.save()


async def send(scene: Scene, statuses: Sequence[int] = (), *, dies: bool = False) -> None:
    """Send what is due; those without a status of their own are taken. One that dies records nothing."""
    left = list(statuses)
    while due := await scene.store.due_deliveries("sender", limit=50, hold_for=HOLD):
        ended = [await _arrive(scene, one, left.pop(0) if left else 200) for one in due]
        if dies:
            await scene.clock.advance(HOLD + seconds(1))
            return
        await scene.store.settle_deliveries("sender", ended)


async def _arrive(scene: Scene, due: DueDelivery, status: int) -> Try:
    webhook, message = due.webhook.id, due.delivery.message
    secrets = [one.text for one in due.secrets if one.text is not None]
    headers = signed_headers(message, await scene.store.now(), due.body.encode(), secrets)
    scene.received.append(Received(hook=webhook, headers=dict(headers), body=due.body, answered=status))
    is_taken = status == 200
    return Try(
        webhook=webhook,
        message=message,
        state=DeliveryState.DELIVERED if is_taken else DeliveryState.WAITING,
        took=seconds(0.1),
        status=status,
        retry_after=None if is_taken else seconds(5),
    )


async def told(scene: Scene) -> None:
    """Two webhooks are told of what they ask for, and of one message twice: what sent it died."""
    await begin(scene)
    await subscribe(scene, "onStart", "failed")
    await end_job(scene, "first")
    await fan_out(scene)
    await send(scene, dies=True)
    await send(scene)
    await end_job(scene, "second")
    await fan_out(scene)
    await send(scene)


async def refused_at_first(scene: Scene) -> None:
    """A receiver that answers 500, and takes the message later."""
    await begin(scene)
    await end_job(scene, "first")
    await fan_out(scene)
    await send(scene, [500])
    await scene.wait(6)
    await send(scene)


async def made_meanwhile(scene: Scene) -> None:
    """A webhook is made while a process reads ahead for the one before it, which wants nothing."""
    await begin(scene, "failed")
    await end_job(scene, "first")
    turns = FanOut(scene.store, "relay", USUAL)
    await turns.turn()
    await subscribe(scene)
    await end_job(scene, "second")
    await turns.turn()
    await turns.save()
    await fan_out(scene)
    await send(scene)


async def paused_for_a_while(scene: Scene) -> None:
    """What happens in a pause is told when it is over."""
    hook = await begin(scene)
    await end_job(scene, "first")
    await fan_out(scene)
    await scene.store.pause_webhook(hook.asked.id)
    await end_job(scene, "second")
    await fan_out(scene)
    await scene.store.resume_webhook(hook.asked.id, catches_up=True)
    for _ in range(3):
        await fan_out(scene)
        await send(scene)
        await scene.wait(1)


async def pruned_before_it_was_told(scene: Scene) -> None:
    """Somebody prunes with a second's retention before anybody has fanned out."""
    await begin(scene)
    await end_job(scene, "first")
    await scene.wait(2)
    await scene.store.prune(SHORT)
    await fan_out(scene)
    await send(scene)
    await scene.store.prune(SHORT)


async def sent_again(scene: Scene) -> None:
    """A message that was taken is sent once more, by hand."""
    hook = await begin(scene)
    await end_job(scene, "first")
    await fan_out(scene)
    await send(scene)
    [message] = {one.message for one in scene.received}
    await scene.store.redeliver(hook.asked.id, message)
    await send(scene)


async def cleared(scene: Scene) -> None:
    """Deliveries that are not old, and somebody who clears away old ones."""
    await begin(scene)
    await end_job(scene, "first")
    await fan_out(scene)
    await send(scene)
    await scene.store.tidy()
