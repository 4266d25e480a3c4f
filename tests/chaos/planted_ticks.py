"""The bugs that are planted where schedules fire: what is taken out, the race that shows it, who notices."""

from tests.chaos import tick_stories as stories
from tests.chaos.planted_bugs import Plant, sqlite
from tests.chaos.sabotage import NOTHING, Sabotage

FOUND_BY_NOBODY = "SELECT 1 WHERE false"

PLANTS = (
    Plant(
        "a tick that two processes fire",
        {"I36"},
        stories.two_schedulers,
        Sabotage(
            {
                "sqlite": (
                    ("fire.move", "AND next_at = :expected", ""),
                    ("fire.tick", "INSERT INTO", "INSERT OR REPLACE INTO"),
                    ("fire.tick", "ON CONFLICT DO NOTHING", ""),
                ),
                "postgres": (
                    ("fire.move", "AND schedule.next_at = given.expected", ""),
                    (
                        "fire.ticks",
                        "ON CONFLICT DO NOTHING",
                        "ON CONFLICT (namespace, schedule, at, is_by_hand) DO UPDATE SET job = excluded.job",
                    ),
                ),
            }
        ),
    ),
    Plant(
        "a run that counts twice",
        {"I49"},
        stories.two_schedulers,
        Sabotage(
            {
                "sqlite": (("fire.count", "remaining - :made,", "remaining - 2 * :made,"),),
                "postgres": (("fire.count", "remaining - made.n,", "remaining - 2 * made.n,"),),
            }
        ),
    ),
    Plant(
        "runs that are not counted",
        {"I49"},
        stories.two_schedulers,
        Sabotage(
            {
                "sqlite": (("fire.count", "max(remaining - :made, 0)", "remaining"),),
                "postgres": (("fire.count", "greatest(remaining - made.n, 0)", "remaining"),),
            }
        ),
    ),
    Plant(
        "a tick without its job",
        {"I36"},
        stories.slept_through,
        Sabotage(
            {
                "sqlite": (("fire.tick", "RETURNING at", ""),),
                "postgres": (("fire.ticks", "RETURNING job", "RETURNING NULL::uuid AS job"),),
            }
        ),
    ),
    Plant(
        "a schedule that moves on without its tick",
        {"I37"},
        stories.slept_through,
        Sabotage(
            {
                "sqlite": (("fire.tick", "", FOUND_BY_NOBODY),),
                "postgres": (("fire.ticks", "ON CONFLICT", "WHERE false ON CONFLICT"),),
            }
        ),
    ),
    Plant(
        "a schedule that does not move",
        {"I37"},
        stories.slept_through,
        Sabotage(
            {
                "sqlite": (("fire.move", "SET next_at = :next_at,", "SET"),),
                "postgres": (("fire.move", "SET next_at = held.next_at,", "SET"),),
            }
        ),
    ),
    Plant(
        "missed ticks that nobody notes",
        {"I37"},
        stories.slept_through,
        Sabotage(
            {
                "sqlite": (
                    ("fire.tick", "VALUES (", "SELECT "),
                    ("fire.tick", ":now) ON", ":now WHERE :outcome <> 'missed' ON"),
                ),
                "postgres": (("fire.ticks", "ON CONFLICT", "WHERE given.outcome <> 'missed' ON CONFLICT"),),
            }
        ),
    ),
    Plant(
        "ticks of a pause that an edit drops",
        {"I37"},
        stories.edited_in_a_pause,
        Sabotage(
            {
                "sqlite": (("change_schedule.missed", "", NOTHING),),
                "postgres": (("change_schedule.missed", "ON CONFLICT", "WHERE false ON CONFLICT"),),
            }
        ),
    ),
    Plant(
        "a firing by a rule that was changed",
        {"I37"},
        stories.edited_meanwhile,
        Sabotage(
            {
                "sqlite": (("fire.move", "AND revision = :revision", ""),),
                "postgres": (("fire.move", "AND schedule.revision = given.revision", ""),),
            }
        ),
    ),
    Plant(
        "a firing in a pause",
        {"I51"},
        stories.paused_meanwhile,
        Sabotage(
            {
                "sqlite": (("fire.move", "AND paused_at IS NULL", ""),),
                "postgres": (("fire.move", "AND schedule.paused_at IS NULL", ""),),
            }
        ),
    ),
    Plant(
        "a firing of a schedule that is gone",
        {"I36"},
        stories.deleted_meanwhile,
        sqlite(("fire.move", "", NOTHING)),
    ),
    Plant(
        "ticks that outlive their schedule",
        {"I37"},
        stories.deleted_meanwhile,
        Sabotage(
            {
                "sqlite": (("delete_schedule.ticks", "", NOTHING),),
                "postgres": (("delete_schedule.ticks", "WHERE", "WHERE false AND"),),
            }
        ),
    ),
    Plant(
        "ticks that are cleared away at once",
        {"I36", "I37"},
        stories.tidied,
        Sabotage(
            {
                "sqlite": (("tidy.ticks", ":now - 7776000000000", ":now + 1"),),
                "postgres": (("tidy", "noted_at < tenure.now() - interval '90 days'", "true"),),
            }
        ),
    ),
    Plant(
        "a tick before its time",
        {"I37"},
        stories.looked_at_too_soon,
        Sabotage(
            {
                "sqlite": (("due_schedules", "WHERE next_at <= :now", "WHERE true"),),
                "postgres": (
                    ("due_schedules", "WHERE next_at <= (SELECT", "WHERE true OR next_at <= (SELECT"),
                ),
            }
        ),
    ),
    Plant(
        "a run that nobody asks about",
        {"I50"},
        stories.still_at_work,
        Sabotage(
            {
                "sqlite": (("due_schedules", "WHERE tick.is_open = 1 AND", "WHERE false AND"),),
                "postgres": (("due_schedules", "WHERE tick.is_open AND", "WHERE false AND"),),
            }
        ),
    ),
    Plant(
        "a run that is not cancelled for the next one",
        {"I50"},
        stories.taken_the_place_of,
        Sabotage(
            {
                "sqlite": (("due_schedules", "WHERE tick.is_open = 1 AND", "WHERE false AND"),),
                "postgres": (("due_schedules", "WHERE tick.is_open AND", "WHERE false AND"),),
            }
        ),
    ),
)
