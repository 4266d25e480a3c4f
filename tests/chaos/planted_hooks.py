"""The bugs that are planted where webhooks are told: what is taken out, the story, and who notices."""

from tests.chaos import hook_stories as stories
from tests.chaos.hook_stories import TERMS
from tests.chaos.planted_bugs import Plant
from tests.chaos.sabotage import NOTHING, Sabotage
from tests.chaos.stories import Story

STRANGE = "SELECT webhook, rotation, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' AS text"
NUMBERED = "SELECT picked.mark, picked.job, picked.n,"
MISNUMBERED = "SELECT picked.mark, picked.job, picked.n + 7 AS n,"
FOR_ONE = "SELECT given.*, tenure.now(), tenure.now() FROM unnest"
FOR_ALL = (
    "SELECT every.id, given.message, given.type, given.at, given.job, given.n, given.body, tenure.now(), "
    "tenure.now() FROM tenure.webhook every CROSS JOIN unnest"
)


def hooks(name: str, notice: set[str], story: Story, **patches: tuple[tuple[str, str, str], ...]) -> Plant:
    return Plant(name, notice, story, Sabotage(patches), TERMS)


PLANTS = (
    hooks(
        "messages that are not recorded",
        {"I58"},
        stories.told,
        sqlite=(("fan_out.delivery", "WHERE id = :webhook", "WHERE false"),),
        postgres=(("fan_out.deliveries", "WHERE EXISTS", "WHERE false AND EXISTS"),),
    ),
    hooks(
        "a job that is pruned before it was told",
        {"I58"},
        stories.pruned_before_it_was_told,
        sqlite=(("prune.looked_at", "WHERE held_at > :now - 86400000000", "WHERE false"),),
        postgres=(("prune", "SELECT FROM untold WHERE", "SELECT FROM untold WHERE false AND"),),
    ),
    hooks(
        "a webhook that was made while others were read for",
        {"I58"},
        stories.made_meanwhile,
        sqlite=(("fan_out.move", "AND generation = :generation", ""),),
        postgres=(("fan_out.move", "AND generation = :generation::bigint", ""),),
    ),
    hooks(
        "a pause that nobody catches up with",
        {"I58"},
        stories.paused_for_a_while,
        sqlite=(("webhook_cursors.catch_up", "", NOTHING),),
    ),
    hooks(
        "a refusal that counts as delivered",
        {"I58", "I61"},
        stories.refused_at_first,
        sqlite=(("settle_deliveries.settle", "SET state = :state,", "SET state = 'delivered',"),),
        postgres=(("settle_deliveries.settle", "SET state = given.state,", "SET state = 'delivered',"),),
    ),
    hooks(
        "an event that never was",
        {"I59"},
        stories.told,
        sqlite=(("scan", NUMBERED, MISNUMBERED),),
        postgres=(("scan", NUMBERED, MISNUMBERED),),
    ),
    hooks(
        "messages for whoever there is",
        {"I59"},
        stories.told,
        sqlite=(("fan_out.delivery", "WHERE id = :webhook", "WHERE :webhook <> ''"),),
        postgres=(("fan_out.deliveries", FOR_ONE, FOR_ALL),),
    ),
    hooks(
        "another id with each try",
        {"I60"},
        stories.sent_again,
        sqlite=(("redeliver", "SET state =", "SET message = message || '0', state ="),),
        postgres=(
            ("redeliver", "SET state = 'waiting',", "SET message = message || '0', state = 'waiting',"),
        ),
    ),
    hooks(
        "a secret of another webhook",
        {"I60"},
        stories.told,
        sqlite=(("webhook_secrets", "SELECT webhook, rotation, text", STRANGE),),
        postgres=(("webhook_secrets", "SELECT webhook, rotation, text", STRANGE),),
    ),
    hooks(
        "deliveries that are cleared away at once",
        {"I61"},
        stories.cleared,
        sqlite=(("tidy_webhooks.ended", ":now - :kept", ":now + 1"),),
        postgres=(("tidy_webhooks.ended", "tenure.now() - kept.time", "tenure.now() + interval '1 second'"),),
    ),
)
