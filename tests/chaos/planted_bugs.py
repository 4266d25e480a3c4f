"""The bugs that are planted into the stores: what is taken out, the story that shows it, who must notice."""

from dataclasses import dataclass

from msgspec.structs import replace

from chaos.evidence import Terms
from tenure.storage.postgres.claims import statement_choice
from tests.chaos import stories
from tests.chaos.sabotage import NOTHING, SCRATCH, Sabotage
from tests.chaos.scene import LEASE
from tests.chaos.stories import Story
from tests.storage.verbs import MAIL

TERMS = Terms(lease=LEASE, served=frozenset({MAIL}), effects=frozenset({"mail"}))
WHATEVER_STATE = (
    (SCRATCH, "AND s.state = 'queued' ORDER BY", "ORDER BY"),
    (SCRATCH, "IS 'queued', 0, -1", "IS 'queued', 0, 0"),
)
"""A claim that does not ask whether those in line are queued."""

AN_HOUR_AHEAD = {
    "sqlite": "(:now + 3600000000)",
    "postgres": "(tenure.now() + interval '1 hour')",
}


@dataclass(frozen=True)
class Plant:
    """What is broken, the story that shows it, and the invariants that must notice."""

    name: str
    notice: set[str]
    story: Story
    sabotage: Sabotage
    terms: Terms = TERMS


def sqlite(*patches: tuple[str, str, str], unguarded: bool = False) -> Sabotage:
    return Sabotage({"sqlite": patches}, unguarded=unguarded)


UNFENCED = Sabotage(
    {
        "sqlite": (
            (
                "settle_and_claim.decided",
                """CROSS JOIN tenure_lease lease
                   ON lease.id = given.fence AND lease.owner = :worker AND lease.expires_at > :now
                CROSS JOIN tenure_job_state s ON s.id = given.job AND s.lease = given.fence""",
                "CROSS JOIN tenure_job_state s ON s.id = given.job AND s.lease IS NOT NULL",
            ),
        ),
        "postgres": (
            (
                statement_choice.BARE,
                "s.lease = given.fence WHERE given.fence IN (SELECT id FROM held) AND",
                "s.lease IS NOT NULL WHERE",
            ),
            (statement_choice.BARE, "WHERE s.id = d.id AND s.lease = d.fence", "WHERE s.id = d.id"),
        ),
    }
)

COUNTED = "SELECT id, n, state::text, source, state, attempt, fence, at, :worker::text, mark FROM settled"
MISCOUNTED = Sabotage(
    {
        "sqlite": (("settle_and_claim.recorded", "SELECT id, n + 1,", "SELECT id, n,"),),
        "postgres": tuple(
            (form, COUNTED, COUNTED.replace("id, n,", "id, n - 1,"))
            for form in (statement_choice.BARE, statement_choice.FULL)
        ),
    }
)

PLANTS = (
    Plant(
        "a report under a number that is taken",
        {"I48"},
        stories.reported_whatever_is_said,
        MISCOUNTED,
    ),
    Plant(
        "no fence where attempts are settled",
        {"I14"},
        stories.late_report,
        UNFENCED,
    ),
    Plant(
        "no fence, and the owner is the same",
        {"I20", "I24"},
        stories.late_report_of_the_owner_itself,
        UNFENCED,
    ),
    Plant(
        "a lease that is over still settles",
        {"I14"},
        stories.late_report_before_the_reaper,
        Sabotage(
            {
                "sqlite": (("settle_and_claim.decided", "AND lease.expires_at > :now", ""),),
                "postgres": (
                    (
                        statement_choice.BARE,
                        "AND owner = :worker::text AND expires_at > tenure.now()",
                        "AND owner = :worker::text",
                    ),
                ),
            }
        ),
    ),
    Plant(
        "no fence where children are made",
        {"I14"},
        stories.child_of_the_late,
        sqlite(("spawn", "", "SELECT id FROM tenure_job_state WHERE id = :job")),
    ),
    Plant(
        "no unique key",
        {"I3"},
        stories.key_used_twice,
        Sabotage(
            {
                "sqlite": (
                    (
                        "enqueue.drop_taken",
                        """EXISTS (SELECT 1 FROM tenure_job WHERE namespace = given_job.namespace
                                      AND scope = given_job.scope AND key = given_job.key) OR""",
                        "",
                    ),
                )
            },
            sql={"sqlite": "DROP INDEX tenure.job_key", "postgres": "DROP INDEX tenure.job_key"},
        ),
    ),
    Plant(
        "no event of the reaper's step",
        {"I10", "I11"},
        stories.late_report,
        Sabotage(
            {
                "sqlite": (("reap.recorded", "", NOTHING),),
                "postgres": (
                    (
                        "reap",
                        "at, :actor::text, :reason::text, mark FROM moved",
                        "at, :actor::text, :reason::text, mark FROM moved WHERE false",
                    ),
                ),
            }
        ),
    ),
    Plant(
        "no event of the end",
        {"I6", "I11"},
        stories.plain,
        sqlite(("settle_and_claim.recorded", "", NOTHING)),
    ),
    Plant(
        "no attempt on record",
        {"I8"},
        stories.plain,
        sqlite(("settle_and_claim.ended", "", NOTHING)),
    ),
    Plant(
        "totals that are not kept",
        {"I8"},
        stories.plain,
        sqlite(("settle_and_claim.tallied", "", NOTHING)),
    ),
    Plant(
        "a reaper that does not look whether the lease is over",
        {"I15"},
        stories.reaped_while_it_runs,
        Sabotage(
            {
                "sqlite": (
                    ("reap.lost", "WHERE expires_at <= :now", ""),
                    ("reap.swept", "WHERE expires_at <= :now", ""),
                ),
                "postgres": (("reap", "WHERE expires_at <= tenure.now()", ""),),
            }
        ),
    ),
    Plant(
        "a reaper that takes what has ended",
        {"I6", "I9", "I15"},
        stories.reaped_when_done,
        sqlite(
            ("reap.lost", "s.lease = expired.id", "s.fence = expired.id"),
            ("reap.ended", "", NOTHING),
            unguarded=True,
        ),
    ),
    Plant(
        "a claim by a clock that is an hour ahead",
        {"I18"},
        stories.plain,
        Sabotage(
            {
                "sqlite": (
                    ("settle_and_claim.started", ":now", AN_HOUR_AHEAD["sqlite"]),
                    ("settle_and_claim.announced", ":now", AN_HOUR_AHEAD["sqlite"]),
                ),
                "postgres": ((statement_choice.CLAIMING, "tenure.now()", AN_HOUR_AHEAD["postgres"]),),
            }
        ),
    ),
    Plant(
        "a lease by a clock that is an hour behind",
        {"I15"},
        stories.reaped_while_it_runs,
        sqlite(("settle_and_claim.leased", ":now + :lease_for", ":now - 3600000000 + :lease_for")),
    ),
    Plant(
        "attempts that are not charged at the claim",
        {"I21"},
        stories.poison,
        Sabotage(
            dict.fromkeys(("sqlite",), (("settle_and_claim.started", "s.attempt + 1", "s.attempt"),))
            | {"postgres": ((statement_choice.CLAIMING, "s.attempt + 1", "s.attempt"),)}
        ),
    ),
    Plant(
        "a place under a limit that a lost job keeps",
        {"I30"},
        stories.lost_under_a_limit,
        Sabotage(
            {
                "sqlite": (("reap.freed", "", NOTHING),),
                "postgres": (("reap", "AND slot.n = held.n", "AND false"),),
            }
        ),
    ),
    Plant(
        "a job that stays in line when it is cancelled",
        {"I15", "I25"},
        stories.cancelled_in_line,
        sqlite(("cancel.out_of_line", "", NOTHING), *WHATEVER_STATE, unguarded=True),
    ),
    Plant(
        "a job that is asked to stop again and again",
        {"I7", "I27"},
        stories.cancelled_twice,
        sqlite(("cancel.found", "s.state = 'running' THEN", "s.state IN ('running', 'cancelling') THEN")),
    ),
    Plant(
        "a job that is tried again though it was to stop",
        {"I7", "I26"},
        stories.cancelled_and_failing,
        sqlite(
            ("settle_and_claim.decided", "WHEN s.state = 'cancelling' THEN 'cancelled'", ""), unguarded=True
        ),
    ),
    Plant(
        "two replays at once",
        {"I27"},
        stories.replayed_twice,
        sqlite(("replay.under_way", "", NOTHING)),
    ),
    Plant(
        "a job put in line before its time",
        {"I23"},
        stories.delayed,
        Sabotage(
            {
                "sqlite": (("promote.due", "timer.due_at <= :now AND", ""),),
                "postgres": (("promote", "WHERE timer.due_at <= tenure.now()", ""),),
            }
        ),
    ),
    Plant(
        "a retry before its time",
        {"I23"},
        stories.backing_off,
        sqlite(("promote.due", "timer.due_at <= :now AND", "")),
    ),
    Plant(
        "progress written over a finished job",
        {"I9"},
        stories.progress_when_done,
        sqlite(("heartbeat.told", "AND s.lease = +given.fence", ""), unguarded=True),
    ),
    Plant(
        "a job that stays in line when it is claimed",
        {"I12"},
        stories.claimed_by_two,
        sqlite(("settle_and_claim.out_of_line", "", NOTHING), *WHATEVER_STATE),
    ),
    Plant(
        "a fence that falls",
        {"I13"},
        stories.late_report,
        sqlite(("settle_and_claim.fenced", "n + 1", "n - 1"), unguarded=True),
    ),
    Plant(
        "a lease swept away from under its job",
        {"I6", "I17"},
        stories.beats_for_one_of_two,
        sqlite(("heartbeat.swept", "AND NOT EXISTS", "AND true OR NOT EXISTS")),
    ),
    Plant(
        "a worker that is given what it does not serve",
        {"I35"},
        stories.of_another_kind,
        sqlite(
            (
                "settle_and_claim.places",
                "FROM temp.served CROSS JOIN tenure_line USING (queue, definition, version) WHERE :limit",
                "FROM tenure_line WHERE :limit",
            )
        ),
    ),
    Plant(
        "the least important first",
        {"I32"},
        stories.by_priority,
        sqlite(
            ("settle_and_claim.places", "ORDER BY moved_up, rank, (row", "ORDER BY moved_up DESC, rank, (row")
        ),
        replace(TERMS, one_by_one=True),
    ),
    Plant(
        "pruning by no horizon",
        {"I44"},
        stories.pruned,
        sqlite(
            (
                "prune.looked_at",
                """AND s.finished_at
                       <= :now - CASE WHEN s.state = 'succeeded' THEN coalesce(own.succeeded, :succeeded)
                                      ELSE coalesce(own.others, :others) END
                   AND (job.key IS NULL OR job.asked_by IS NOT NULL
                        OR s.finished_at <= :now - coalesce(own.keyed, :keyed))""",
                "",
            )
        ),
        replace(TERMS, retention=stories.KEPT),
    ),
)
