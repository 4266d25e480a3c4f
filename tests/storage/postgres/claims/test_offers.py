"""Places that gave fewer jobs than they could are not offered again until there is news."""

import pytest

from tenure.storage.postgres.claims.line_scan import LineScan
from tenure.storage.postgres.claims.offers import Offer, OpenLine, spent
from tests.storage.postgres.claims.test_line_scan import found, look_up, looked_up, offered, taken
from tests.storage.verbs import MAIL


def offer(line: int, room: int = 10, limits: tuple[int, ...] = ()) -> Offer:
    return Offer((line, 0), 0, OpenLine(MAIL, limits), room)


def lines_spent(
    offers: list[Offer], gave: dict[int, int], limit: int = 10, used_up: tuple[int, ...] = ()
) -> list[int]:
    """Lines that are not certainly spent are negative."""
    by_place = {(line, 0): count for line, count in gave.items()}
    found_spent = spent(offers, by_place, limit, used_up.__contains__)
    return [one.place[0] if is_certain else -one.place[0] for one, is_certain in found_spent]


def claim(places: LineScan, gave: dict[int, int], limit: int = 10, returning: int = 0) -> list[int]:
    """The lines that a turn was offered, which gave so many jobs each and ended some of the first line."""
    offers = places.offers(limit, returning)
    places.note_turn([(1, returning)] if returning else [], gave)
    places.note_claimed(offers, limit, {(line, 0): [taken(7)] * count for line, count in gave.items()})
    return sorted(one.place[0] for one in offers)


def test_a_place_is_spent_that_gave_less_than_it_could() -> None:
    """Of those that the claim came to: it ends where it has enough."""
    offers = [offer(1), offer(2, room=2, limits=(7,)), offer(3, room=2, limits=(8,)), offer(4)]
    assert lines_spent(offers, {}) == [1, 2, 3, 4]
    assert lines_spent(offers, {2: 2, 3: 1}) == [1, 3, 4]
    assert lines_spent(offers, {1: 10}) == []
    assert lines_spent(offers, {1: 7, 2: 1, 3: 2}) == [1, 2]


def test_a_claim_may_not_have_come_to_what_stands_behind_jobs_without_a_slot() -> None:
    """Those of the second line were found, too, and left in line: the first had taken the last slot."""
    offers = [offer(1, room=6, limits=(7,)), offer(2, room=6, limits=(7,)), offer(3)]
    assert lines_spent(offers, {1: 6}, used_up=(7,)) == [-2]
    assert lines_spent(offers, {1: 6}, used_up=(7,), limit=100) == [-2, 3]
    assert lines_spent(offers, {1: 5}) == [1, 2, 3]
    assert lines_spent(offers, {}) == [1, 2, 3]


def test_emptied_places_make_way_for_those_that_were_not_on_offer() -> None:
    places = looked_up(*(found(line, limits=(line,), free=1) for line in range(1, 100)))
    seen: list[int] = []
    while turn := claim(places, {}, limit=10):
        assert not set(turn) & set(seen)
        seen += turn
    assert len(seen) == 99
    assert places.is_doubtful


def test_a_claim_is_offered_little_more_room_than_the_last_one_used() -> None:
    """The slots of all that it is offered are locked: twice as many at first, then by what came of it."""
    places = looked_up(*(found(line, limits=(line,), free=2) for line in range(1, 100)))
    assert len(first := claim(places, dict.fromkeys(range(2, 7), 2))) == 11
    assert len(second := offered(places)) == 7
    assert set(first) - set(second) >= set(range(2, 7))
    assert len(claim(places, {second[0]: 2, second[1]: 2, second[2]: 1})) == 7
    assert len(offered(places)) > 11


def test_a_claim_is_offered_no_more_places_than_it_may_come_to() -> None:
    """However many there are. Each goes first in its turn; once those on offer are spent, others follow."""
    places = looked_up(*(found(line) for line in range(1, 501)))
    assert len(claim(places, dict.fromkeys(range(2, 12), 1))) < 20
    left = {1, *range(11, 501)}
    assert {offered(places)[0] for _ in left} == left
    plenty = places.offers(10, 0)
    places.note_claimed(plenty, 10, {plenty[0].place: [taken(7)] * 10})
    assert len(offered(places)) < 10
    seen = set[int]()
    while turn := claim(places, {}):
        assert not seen & set(turn)
        seen |= set(turn)
    assert seen == left


def test_a_place_without_room_is_not_spent() -> None:
    """It is passed over, and on offer again when room is free."""
    places = looked_up(found(1, limits=(7,), free=2), found(2, limits=(7,), free=2))
    assert claim(places, {1: 2}) == [1, 2]
    assert offered(places) == []
    assert not places.is_doubtful
    assert claim(places, {}, returning=2) == [1, 2]


def test_a_place_that_others_may_have_kept_from_giving_is_offered_once_more() -> None:
    places = looked_up(
        found(1, limits=(7,), free=1), found(2, limits=(7, 8), free=1), found(3, limits=(8,), free=1)
    )
    assert claim(places, {1: 1}) == [1, 2, 3]
    assert claim(places, {}) == [3]
    assert offered(places) == []


@pytest.mark.parametrize("by", ["this process", "another"])
def test_a_spent_place_is_offered_again_when_jobs_are_put_there(by: str) -> None:
    """From where it was left."""
    places = looked_up(found(1), found(2))
    assert claim(places, {1: 1}) == [1, 2]
    assert offered(places) == []
    if by == "another":
        places.note_hint([(1, 0)])
    else:
        places.note_queued((1, 0), MAIL)
    assert [(one.place, one.after) for one in places.offers(10, 0)] == [((1, 0), 7)]


def test_a_place_is_not_spent_where_jobs_were_put_while_the_claim_was_under_way() -> None:
    places = looked_up(found(1), found(2))
    offers = places.offers(10, 0)
    places.note_queued((2, 0), MAIL)
    places.note_claimed(offers, 10, {})
    assert offered(places) == [2]


def test_a_look_tells_what_is_spent_from_what_had_no_room() -> None:
    places = looked_up(found(1, limits=(7,), free=2), found(2))
    claim(places, {})
    doubts = [places.is_doubtful]
    look_up(places, found(1, limits=(7,), free=1))
    assert [*doubts, places.is_doubtful] == [True, False]
    assert offered(places) == [1]
