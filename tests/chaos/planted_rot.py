"""Bugs that leave jobs stuck: what is taken out of the stores, and the life in which it shows."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Pulse
from tenure.core.model.limit import Limit
from tenure.storage.postgres.claims import statement_choice
from tests.chaos.sabotage import NOTHING, Sabotage
from tests.chaos.scene import LEASE, Scene
from tests.chaos.stories import begin
from tests.storage.verbs import recoverable, seconds, settle, succeeded

Life = Callable[[Scene], Awaitable[None]]


@dataclass(frozen=True)
class Rot:
    """A bug, the life in which it shows, and what the store then has to mend."""

    kind: str
    life: Life
    sabotage: Sabotage


async def comes_due(scene: Scene) -> None:
    """A job fails, waits and is due again."""
    await waits(scene)
    await scene.wait(5)
    await scene.store.promote(10)


async def waits(scene: Scene) -> None:
    """A job fails and waits."""
    await settle(scene.store, [recoverable(await begin(scene), seconds(5))])


async def beats_before_it_knows(scene: Scene) -> None:
    """A heartbeat meets a claim whose answer is on its way: it does not name the job yet."""
    await begin(scene)
    await scene.store.heartbeat(Pulse(worker="a", leases=[], lease_for=LEASE))


async def gives_its_place_back(scene: Scene) -> None:
    """The only place under a limit is wanted by a second job."""
    box = Limit("box", size=1)
    held = await begin(scene, limits=(box,))
    await scene.enqueue({"next": NewJob(definition="mail", key="next", limits=(box,))})
    scene.wrote(held, "effect", "end")
    await settle(scene.store, [succeeded(held)])


ROTS = (
    Rot(
        "no-place",
        comes_due,
        Sabotage(
            {
                "sqlite": (("promote.lined_up", "", NOTHING),),
                "postgres": (
                    (
                        "promote",
                        "SELECT line, rank, seq, id FROM moved WHERE state = 'queued'",
                        "SELECT line, rank, seq, id FROM moved WHERE false",
                    ),
                ),
            }
        ),
    ),
    Rot(
        "no-timer",
        waits,
        Sabotage(
            {
                "sqlite": (("settle_and_claim.timed", "", NOTHING),),
                "postgres": (
                    (
                        statement_choice.BARE,
                        "FROM settled WHERE state IN ('retrying', 'suspended')",
                        "FROM settled WHERE false",
                    ),
                ),
            }
        ),
    ),
    Rot(
        "no-lease",
        beats_before_it_knows,
        Sabotage(
            {
                "sqlite": (
                    (
                        "heartbeat.swept",
                        """AND NOT EXISTS (SELECT 1
                                              FROM json_each(tenure_lease.jobs) member
                                             CROSS JOIN tenure_job_state s
                                                ON s.id = member.value AND s.lease = tenure_lease.id)""",
                        "",
                    ),
                ),
                "postgres": (
                    (
                        "heartbeat",
                        """AND NOT EXISTS (SELECT FROM tenure.job_state s
                                            WHERE s.id = ANY (lease.jobs) AND s.lease = lease.id)""",
                        "",
                    ),
                ),
            }
        ),
    ),
    Rot(
        "slot-held",
        gives_its_place_back,
        Sabotage(
            {
                "sqlite": (("settle_and_claim.freed", "", NOTHING),),
                "postgres": (
                    (
                        statement_choice.PASSING,
                        "UPDATE tenure.slot SET is_held = false",
                        "UPDATE tenure.slot SET is_held = true",
                    ),
                ),
            }
        ),
    ),
)
