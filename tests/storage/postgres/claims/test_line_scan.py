"""What a process knows of its lines: enough to save work, and never for long."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from tenure.core.model.lease import Line
from tenure.storage.postgres.claims import line_scan
from tenure.storage.postgres.claims.line_scan import LineScan
from tests.storage.clock import START
from tests.storage.verbs import MAIL

POST = Line("default", "post")


def found(
    line: int,
    rank: int = 0,
    *,
    of: Line = MAIL,
    limits: tuple[int, ...] = (),
    free: int = 0,
    seq: int = 1,
    n: int = 1,
    waited: int = 0,
) -> Any:
    """A row of a look-up: jobs stand there, and so much room is free in each of their limits."""
    return {
        "line": line,
        "queue": of.queue,
        "definition": of.definition,
        "version": of.version,
        "rank": rank,
        "seq": seq,
        "n": n,
        "waited": timedelta(minutes=waited),
        "limits": list(limits),
        "room": dict.fromkeys(limits, free),
    }


def offered(places: LineScan, limit: int = 10, returning: int = 0) -> list[int]:
    return [offer.place[0] for offer in places.offers(limit, returning)]


def look_up(places: LineScan, *rows: Any) -> None:
    """Learn places, and as much room as each row says."""
    sizes = [(free, [limit]) for row in rows for limit, free in row["room"].items()]
    learn(places, rows, room=(sizes, []))


def learn(places: LineScan, rows: Iterable[Any], room: Any) -> None:
    """Learn places, and the room of their limits: sizes, each with its limits, and slots that are held."""
    names = ("line", "queue", "definition", "version", "rank", "seq", "limits", "n", "waited")
    last = (*[None] * len(names), msgspec.json.encode(room).decode())
    places.learn([*((*(row[name] for name in names), None) for row in rows), last], took=0.0)


def looked_up(*rows: Any) -> LineScan:
    places = LineScan([MAIL, POST])
    look_up(places, *rows)
    return places


def taken(seq: int, waited: int = 0) -> Any:
    """A row of a claim: the job had waited so many minutes."""
    return {"seq": seq, "queued_at": START, "started_at": START + timedelta(minutes=waited)}


def claimed(places: LineScan, seq: int, *, short: bool = False) -> None:
    """A job was claimed from line 1, which was on offer as all the others are."""
    offers = places.offers(10, 0)
    places.note_turn([], {1: 1})
    places.note_claimed(offers, 10 if short else 1, {(1, 0): [taken(seq)]})


def test_a_look_up_forgets_how_far_a_line_had_been_emptied() -> None:
    """Jobs that were passed over, as after a late commit, are found again."""
    places = looked_up(found(1))
    claimed(places, 99)
    assert [offer.after for offer in places.offers(10, 0)] == [99]
    look_up(places, found(1, seq=7))
    assert [offer.after for offer in places.offers(10, 0)] == [6]


def test_a_look_up_forgets_places_that_are_empty_by_now() -> None:
    places = looked_up(found(1), found(2))
    look_up(places, found(2))
    assert offered(places) == [2]


def test_a_claim_may_outlive_what_was_remembered_of_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another call has looked up other lines while the claim was under way."""
    places = looked_up(found(1), found(2))
    offers = [offer for offer in places.offers(10, 0) if offer.place == (1, 0)]
    monkeypatch.setattr(line_scan, "MOST_REMEMBERED", 1)
    look_up(places, found(2))
    places.note_claimed(offers, 1, {(1, 0): [taken(5)]})
    assert offered(places) == [2]


def test_a_line_whose_limit_has_no_room_is_passed_over() -> None:
    places = looked_up(found(1, limits=(7,)), found(2, limits=(8,), free=1), found(3))
    assert sorted(offered(places)) == [2, 3]


def test_a_turn_may_give_its_own_room_to_a_line_that_had_none() -> None:
    """As much as this process holds under the limit, and no more."""
    places = looked_up(found(1, limits=(7,), free=1))
    claimed(places, 5)
    assert offered(places) == []
    assert offered(places, returning=1) == [1]
    assert places.note_turn([(1, 1)], {})
    assert offered(places) == [1]


def test_a_claim_that_limits_have_kept_short_is_not_followed_by_a_look() -> None:
    """Unless a hint comes: all room was taken, and more may have become free since."""
    places = looked_up(found(1, limits=(7,), free=1))
    claimed(places, 5, short=True)
    assert not places.is_stale
    places.note_hint()
    assert places.is_stale


def test_room_is_left_where_more_jobs_end_than_begin() -> None:
    places = looked_up(found(1, limits=(7,), free=5), found(2, limits=(7,)), found(3))
    assert not places.note_turn([(1, 2)], {2: 2})
    assert not places.note_turn([(3, 2)], {})
    assert not places.note_turn([(1, 2)], {1: 3})
    assert places.note_turn([(1, 2), (2, 1)], {1: 1, 3: 9})


def test_a_limit_counts_as_lowered_until_a_look_up_says_otherwise() -> None:
    places = LineScan([MAIL])
    learn(places, [found(1, limits=(7,))], room=([(1, [7])], [(7, 2), (7, 3), (9, 1)]))
    assert [places.room.is_lowered(limits) for limits in ((7,), (8,), ())] == [True, False, False]
    look_up(places, found(1, limits=(7,)))
    assert not places.room.is_lowered((7,))


def test_who_has_passed_a_line_over_looks_again_when_told_of_news() -> None:
    """Room may have become free; a process that knows of plenty of jobs does not look."""
    places = looked_up(found(1, limits=(7,)))
    plenty = looked_up(found(1))
    for known in (places, plenty):
        offered(known)
        known.note_hint()
    assert [places.is_stale, plenty.is_stale] == [True, False]


def test_who_has_passed_a_line_over_looks_again_when_jobs_of_unknown_lines_have_ended() -> None:
    """Once: a look-up tells what room there is. A process that knows of plenty of jobs does not look."""
    places = looked_up(found(1, limits=(7,)))
    plenty = looked_up(found(1), found(2, limits=(7,), free=1))
    for known in (places, plenty):
        offered(known)
        known.note_unknown_room()
    assert [places.is_stale, plenty.is_stale] == [True, False]
    assert [places.has_guessed, plenty.has_guessed] == [True, True]
    look_up(places, found(1, limits=(7,)))
    assert not places.is_stale
    assert not places.has_guessed


def test_only_so_many_limited_lines_go_into_a_turn_as_can_fill_it() -> None:
    """The free slots of each are locked while it lasts; lines without limits cost nothing."""
    limited = [found(n, limits=(n,), free=1) for n in range(1, 30)]
    places = looked_up(*limited, found(30))
    turn = offered(places, limit=2)
    assert 2 <= len(turn) - 1 <= 6
    assert 30 in turn
    assert len(set(turn + [line for _ in range(40) for line in offered(places, limit=2)])) == 30


def test_some_turns_go_by_age() -> None:
    """A place moves up a rank for each minute that its first job has waited, behind those already there."""
    older = looked_up(found(1, -5), found(2, waited=6))
    as_old = looked_up(found(1, -5), found(2, waited=5))
    assert {tuple(offered(older)) for _ in range(5)} == {(1, 2), (2, 1)}
    assert {tuple(offered(as_old)) for _ in range(5)} == {(1, 2)}


def test_whoever_stands_behind_a_claimed_job_is_no_older_than_it_was() -> None:
    places = looked_up(found(1, -5), found(2, waited=60))
    by_age = [offer for offer in places.offers(1, 0) if offer.place == (2, 0)]
    places.note_claimed(by_age, 1, {(2, 0): [taken(7, waited=5)]})
    assert {tuple(offered(places)) for _ in range(5)} == {(1, 2)}


def test_a_look_up_forgets_how_long_somebody_had_waited() -> None:
    places = looked_up(found(1, -5), found(2, waited=60))
    look_up(places, found(1, -5), found(2))
    assert {tuple(offered(places)) for _ in range(5)} == {(1, 2)}


def test_room_that_was_free_long_ago_is_not_believed_in() -> None:
    """A limit that the latest look-up does not name has none, until it names it."""
    places = looked_up(found(1, limits=(7,), free=5), found(2))
    look_up(places, found(2))
    places.note_queued((1, 0), MAIL)
    assert offered(places) == [2]


def test_jobs_put_in_line_here_are_known_at_once() -> None:
    """In a line that is known; another one of those that are served must be looked up."""
    places = looked_up(found(1))
    places.note_queued((1, -5), MAIL)
    assert [offer.place for offer in places.offers(10, 0)] == [(1, -5), (1, 0)]
    places.note_queued((9, 0), Line("default", "foreign"))
    assert not places.is_stale
    places.note_queued((9, 0), POST)
    assert places.is_stale


def test_a_short_claim_is_followed_by_a_look() -> None:
    places = looked_up(found(1))
    claimed(places, 5)
    assert not places.is_stale
    claimed(places, 6, short=True)
    assert places.is_stale


def test_who_found_all_lines_empty_goes_where_it_is_told() -> None:
    """From the front, whatever was claimed there before; each hint counts once."""
    places = looked_up(found(1), found(2))
    claimed(places, 5, short=True)
    places.note_hint([(2, -5)])
    assert (offer := places.hinted_offer(10)) is not None
    assert (offer.place, offer.after) == ((2, -5), 0)
    assert places.hinted_offer(10) is None


def test_who_knows_of_jobs_goes_by_their_order_and_not_by_what_it_is_told() -> None:
    places = looked_up(found(1), found(2))
    places.note_hint([(1, 0)])
    assert places.hinted_offer(10) is None
    claimed(places, 5)
    places.note_hint([(1, 0)])
    assert places.hinted_offer(10) is None


def test_what_was_told_is_not_enough_to_go_by() -> None:
    """Two places, an unknown line, a line with limits, no place; and if walking takes long."""
    places = looked_up(found(1), found(3, limits=(7,), free=1))
    look_up(places)
    for hinted in ([(1, 0), (1, 5)], [(9, 0)], [(3, 0)], []):
        places.note_hint(hinted)
        assert places.hinted_offer(10) is None
    places.freshness.note_walk(1.0)
    places.note_hint([(1, 0)])
    assert places.hinted_offer(10) is None
    look_up(places)
    places.note_hint([(1, 0)])
    assert (offer := places.hinted_offer(10)) is not None
    assert offer.place == (1, 0)


def test_after_a_claim_under_limits_somebody_looks() -> None:
    """It came back short though there was room: jobs may still stand there."""
    places = looked_up(found(1), found(3, limits=(7,), free=5))
    claimed(places, 5, short=True)
    places.note_hint([(1, 0)])
    assert places.hinted_offer(10) is None


def without_look(places: LineScan) -> list[int] | None:
    """The lines offered to a turn that settles; None if it has to look first."""
    offers = places.offers_while_settling(10)
    return None if offers is None else [offer.place[0] for offer in offers]


def emptied() -> LineScan:
    """All lines were looked up, and two jobs of line 1 claimed since; nothing else is known."""
    places = looked_up(found(1), found(2, of=POST))
    look_up(places, found(1))
    claimed(places, 5, short=True)
    return places


def test_a_turn_that_settles_looks_only_if_jobs_may_stand_where_no_hint_has_named() -> None:
    """At one place of a line that was not paused, hints are enough; without any hint it need not claim."""
    named, several, vague, paused, foreign = (emptied() for _ in range(5))
    assert without_look(named) == []
    named.note_hint([(1, 0)])
    several.note_hint([(1, 0), (1, -5)])
    vague.note_hint()
    paused.note_hint([(2, 0)])  # the last look-up did not find it
    foreign.note_hint([(9, 0)])
    assert [without_look(one) for one in (named, several, vague, paused, foreign)] == [[1], *[None] * 4]
    assert without_look(looked_up(found(1))) is None  # jobs stand there


def test_a_hint_whose_turn_has_failed_is_followed_by_a_look() -> None:
    places = emptied()
    places.note_hint([(1, 0)])
    assert without_look(places) == [1]
    assert without_look(places) is None
