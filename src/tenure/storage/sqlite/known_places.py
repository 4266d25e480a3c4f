"""The places where jobs stand, kept from one claim to the next where there are very many lines.

A claim has to find the most urgent place of all lines that hold jobs, and to walk through ten thousand lines
costs more than the claim itself. So the walk is kept, in scratch tables of the writing connection. What
changes it is noticed exactly: jobs that are claimed here leave it in the same transaction; where any process
has put jobs in line since is found through the transactions that did so; with other pauses it is walked anew.
Jobs that another process has claimed leave an empty place, which is dropped when it is reached. Whether there
is room under limits is never kept: `pick` finds out.

Rows that were moved by hand leave no such trace. The next walk finds them, a few seconds later.
"""

import math
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import apsw

from tenure.storage.sqlite.scripts import Step

MANY = 100
"""From how many places on they are kept: fewer are found faster than kept."""

FRONT = 16
"""How many ranks of a line a walk goes through; what stands behind them is not known."""

MOST_ARRIVALS = 5_000
"""After how many jobs put in line a new walk is cheaper than finding out where they stand."""

FRESH_FOR, WORTH, STALE_AFTER = 1.0, 40, 5.0
"""A walk is trusted for 40 times its own duration, but no less than one second and no more than five."""

_END = 1 << 16
"""Behind every rank."""

_MOST_ORDERS = 100


class _Scope(NamedTuple):
    """What a claim may take from, where the last job was put in line, and what is known of places."""

    open: str
    last: int
    lines: str | None
    place: int | None
    seen: int | None
    horizon: int | None


class KnownPlaces:
    """Steps of the script `settle_and_claim`; they run in the writing thread."""

    def __init__(self, statements: Mapping[str, str]) -> None:
        self._statements = statements
        self._has_found_many: dict[str, bool] = {}  # by the lines of claims
        self._walked_at = -math.inf
        self._trusted_for = FRESH_FOR
        self._some = MANY  # places that the next claim is offered first
        self._reached: int | None = None  # the last place that this claim got to; None without known places
        self._is_scope_new = False
        self.steps: Mapping[str, Step] = {
            "scope": self._note_scope,
            "open_lines": self._serve,
            "opened": self._serve,
            "places": self._pick,
            "walked": self._note_walked,
            "out_of_line": self._move_on,
        }

    def forget(self) -> bool:
        """Let the next claim walk through all lines; whether the last one may have done otherwise."""
        had_many = any(self._has_found_many.values())
        self._has_found_many = dict.fromkeys(self._has_found_many, False)
        return had_many

    def _note_scope(self, connection: apsw.Connection, text: str, values: dict[str, Any]) -> None:
        connection.execute(text, values)
        self._is_scope_new = connection.changes() > 0

    def _serve(self, connection: apsw.Connection, text: str, values: dict[str, Any]) -> None:
        if self._is_scope_new:
            connection.execute(text, values)

    def _pick(self, connection: apsw.Connection, text: str, values: dict[str, Any]) -> None:
        self._reached = None
        if values["limit"] and self._has_many(connection, values):
            scope = self._scope(connection, values)
            if scope is not None:
                self._pick_known(connection, values, scope)
                return
        connection.execute(text, values)
        if values["limit"]:
            self._has_found_many[values["scope"]] = connection.changes() >= MANY

    def _has_many(self, connection: apsw.Connection, values: dict[str, Any]) -> bool:
        """Whether the last claim found very many places; before the first: are there as many lines?"""
        has_many = self._has_found_many.get(values["scope"])
        if has_many is None:
            if len(self._has_found_many) >= _MOST_ORDERS:
                self._has_found_many.clear()
            has_many = bool(self._run(connection, "has_many", {**values, "many": MANY}).get)
        return has_many

    def _scope(self, connection: apsw.Connection, values: dict[str, Any]) -> _Scope | None:
        """Bring what is known up to date; None if this claim has to walk."""
        scope = _Scope(*self._run(connection, "known_of", values).get)
        is_trusted = time.monotonic() - self._walked_at < self._trusted_for
        if scope.lines != scope.open:
            if scope.lines is not None and is_trusted:
                return None  # claims from other lines use what is known
            connection.execute("DELETE FROM temp.standing")
            scope = self._walk(connection, values, scope)
        elif not is_trusted or scope.last - (scope.place or 0) > MOST_ARRIVALS:
            scope = self._walk(connection, values, scope)
        elif scope.last != scope.place:
            arrived = {**values, "seen": scope.seen, "place": scope.place}
            self._run(connection, "arrived", arrived)
            self._keep(connection, values, scope)
        if values["step"] and scope.horizon != _END:
            return None  # what has waited longest may stand behind the horizon
        return scope

    def _walk(self, connection: apsw.Connection, values: dict[str, Any], scope: _Scope) -> _Scope:
        began = time.monotonic()
        self._run(connection, "learned", {**values, "front": FRONT})
        horizon = self._run(connection, "horizon", {"front": FRONT}).get
        scope = scope._replace(horizon=_END if horizon is None else horizon)
        self._keep(connection, values, scope)
        self._walked_at = time.monotonic()
        took = self._walked_at - began
        self._trusted_for = min(max(FRESH_FOR, WORTH * took), STALE_AFTER)
        return scope

    def _keep(self, connection: apsw.Connection, values: dict[str, Any], scope: _Scope) -> None:
        known = {"open": scope.open, "last": scope.last, "mark": values["mark"], "horizon": scope.horizon}
        self._run(connection, "known", known)

    def _pick_known(self, connection: apsw.Connection, values: dict[str, Any], scope: _Scope) -> None:
        """Offer known places, some at a time, until the claim is full or none is left."""
        limit = values["limit"]
        offered = self._order(connection, values)
        some, past = self._some, 0
        while True:
            self._run(connection, offered, {**values, "horizon": scope.horizon, "some": some, "past": past})
            passed_over = some - connection.changes()
            past += some
            picked, reached = self._run(connection, "reached", {}).get
            if picked == limit:
                self._reached = reached
                self._has_found_many[values["scope"]] = True
                self._some = reached + passed_over + 4 if past == some else past
                break
            known = connection.execute("SELECT count(*) FROM temp.standing").get
            if past >= known:
                self._reached = past
                self._end(connection, values, scope)
                self._has_found_many[values["scope"]] = known >= MANY
                break
            some *= 4
        if picked and scope.last == scope.place:
            self._keep(connection, values, scope)

    def _order(self, connection: apsw.Connection, values: dict[str, Any]) -> str:
        """Which statement offers the places; where all have one rank, age makes no difference."""
        if not values["step"] or not self._run(connection, "ranks", {}).get:
            return "offered"
        self._run(connection, "aged", {})
        return "offered_by_age"

    def _end(self, connection: apsw.Connection, values: dict[str, Any], scope: _Scope) -> None:
        """No known place is left: walk on to those behind the horizon, if there are any."""
        if scope.horizon != _END:
            self._run(connection, "out_of_line", values)
            self._run(connection, "places", values)
            self._walked_at = -math.inf

    def _note_walked(self, connection: apsw.Connection, text: str, values: dict[str, Any]) -> None:
        if self._reached is None:
            connection.execute(text, values)

    def _move_on(self, connection: apsw.Connection, text: str, values: dict[str, Any]) -> None:
        """Take the jobs out of line; drop places that are empty now, put the others behind the rest."""
        connection.execute(text, values)
        if self._reached is None:
            return
        named = {"reached": self._reached, "turn": values["turn"]}
        self._run(connection, "emptied", named)
        self._run(connection, "served", named)

    def _run(self, connection: apsw.Connection, part: str, values: dict[str, Any]) -> apsw.Cursor:
        return connection.execute(self._statements[f"settle_and_claim.{part}"], values)
