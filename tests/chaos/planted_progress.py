"""Bugs of durable steps that are planted into the stores, the lives in which they show, and who notices."""

from msgspec.structs import replace

from tenure.core.model.policy import Policy
from tests.chaos.planted_bugs import TERMS, Plant
from tests.chaos.sabotage import NOTHING, Sabotage
from tests.chaos.scene import Scene
from tests.chaos.stories import OVER, begin, finish
from tests.storage.durable_verbs import (
    approval,
    done,
    for_signal,
    happened,
    intended,
    keep,
    recalled,
    suspend,
    tell,
)

UNRESTING = replace(TERMS, quiet=False)


async def waits(scene: Scene) -> None:
    """A job is suspended until it is told something."""
    held = await begin(scene)
    await keep(scene.store, held.lease, done())
    await suspend(scene.store, held.lease, for_signal())
    await scene.wait(1)


async def is_told(scene: Scene) -> None:
    """A job waits for a signal, and it comes."""
    await waits(scene)
    await tell(scene.store, scene.jobs["job"], approval())
    await finish(scene, "b")


async def keeps_twice(scene: Scene) -> None:
    """The next attempt keeps a step under a name that is taken."""
    held = await begin(scene)
    await keep(scene.store, held.lease, done(body="1"))
    await scene.store.hand_back("a", unstarted=[], killed=[held.lease])
    await scene.wait(1)
    again = (await scene.claim("a", "job"))["job"]
    await keep(scene.store, again.lease, done(body="2"))
    await scene.wait(1)


async def goes_on_in_doubt(scene: Scene) -> None:
    """The next attempt goes on with an effect that the last one was killed in, and ran."""
    held = await begin(scene)
    await keep(scene.store, held.lease, intended())
    scene.did(held, "charge")
    await scene.store.hand_back("a", unstarted=[], killed=[held.lease])
    await scene.wait(1)
    again = (await scene.claim("a", "job"))["job"]
    await keep(scene.store, again.lease, intended())
    scene.did(again, "charge")
    await keep(scene.store, again.lease, happened())
    await scene.wait(1)


async def runs_what_it_was_not_told_of(scene: Scene) -> None:
    """The next attempt runs a step again, if it is not told that the step is on record."""
    held = await begin(scene)
    scene.did(held, "fetch")
    await keep(scene.store, held.lease, done())
    await scene.store.hand_back("a", unstarted=[], killed=[held.lease])
    await scene.wait(1)
    again = (await scene.claim("a", "job"))["job"]
    if not (await recalled(scene.store, again.lease)).steps:
        scene.did(again, "fetch")
    await scene.wait(1)


async def is_told_before_it_waits(scene: Scene) -> None:
    """A job is told something, of which its sender hears that it is kept."""
    await begin(scene)
    await scene.tell("job", approval())
    await scene.wait(1)


async def dies_in_an_effect(scene: Scene) -> None:
    """A job with a single attempt is lost in the middle of an effect."""
    held = await begin(scene, policy=Policy(max_attempts=1))
    await keep(scene.store, held.lease, intended())
    await scene.wait(OVER)
    await scene.store.reap(10)
    await scene.wait(1)


PLANTS = (
    Plant(
        "steps that nobody is told of",
        {"I62"},
        runs_what_it_was_not_told_of,
        Sabotage(
            {
                "sqlite": (("recall", "step.job = held.id", "false"),),
                "postgres": (("recall", "WHERE step.job = held.id OFFSET 0", "WHERE false OFFSET 0"),),
            }
        ),
        UNRESTING,
    ),
    Plant(
        "doubts that handlers pass over in silence",
        {"I63"},
        goes_on_in_doubt,
        Sabotage(
            {
                "sqlite": (("keep_steps.announced", "", NOTHING), ("keep_steps.counted", "", NOTHING)),
                "postgres": (
                    ("keep_steps.keep", "WHERE was = 'intended' AND was_fence <> fence", "WHERE false"),
                ),
            }
        ),
        UNRESTING,
    ),
    Plant(
        "a signal that is not kept",
        {"I65"},
        is_told_before_it_waits,
        Sabotage(
            {
                "sqlite": (("signal.keep", "", NOTHING),),
                "postgres": (("signal", "WHERE state NOT IN", "WHERE false AND state NOT IN"),),
            }
        ),
        UNRESTING,
    ),
    Plant(
        "a wait that is not on record",
        {"I54"},
        waits,
        Sabotage(
            {
                "sqlite": (("suspend.waiting", "", NOTHING),),
                "postgres": (
                    (
                        "suspend.move",
                        "signal FROM moved WHERE state = 'suspended' ON CONFLICT",
                        "signal FROM moved WHERE false ON CONFLICT",
                    ),
                ),
            }
        ),
        UNRESTING,
    ),
    Plant(
        "a signal that wakes nobody",
        {"I54"},
        is_told,
        Sabotage(
            {
                "sqlite": (("rouse.due", "s.state = 'suspended'", "s.state = 'retrying'"),),
                "postgres": (("rouse", "job_state.state = 'suspended'", "job_state.state = 'retrying'"),),
            }
        ),
        UNRESTING,
    ),
    Plant(
        "a step that may be kept anew",
        {"I55"},
        keeps_twice,
        Sabotage(
            {
                "sqlite": (("keep_steps.judged", "WHEN known.status IN ('done', 'skipped')", "WHEN false"),),
                "postgres": (("keep_steps.keep", "WHEN found.status IN ('done', 'skipped')", "WHEN false"),),
            },
            sql={
                "sqlite": "DROP TRIGGER tenure_guard_step_change",
                "postgres": "ALTER TABLE tenure.step DISABLE TRIGGER guard_step_change",
            },
        ),
        UNRESTING,
    ),
    Plant(
        "doubts that end with their jobs",
        {"I57"},
        dies_in_an_effect,
        Sabotage(
            {
                "sqlite": (("effects_in_doubt", "step.fence IS NOT s.lease", "step.fence < s.lease"),),
                "postgres": (
                    ("effects_in_doubt", "step.fence IS DISTINCT FROM s.lease", "step.fence < s.lease"),
                ),
            }
        ),
        UNRESTING,
    ),
)
