"""The line scans of this process, one for each set of lines that its orders name."""

from collections.abc import Collection, Mapping

from tenure.core.model.job import NewJob
from tenure.core.model.lease import Line
from tenure.storage.postgres.claims.hints import Place
from tenure.storage.postgres.claims.line_ids import line_of
from tenure.storage.postgres.claims.line_scan import LineScan

MOST_ORDERS = 100
"""How many sets of lines are remembered."""


class LineScans:
    """A scan for each set of lines; what happens to lines is noted in all of them."""

    def __init__(self) -> None:
        self._by_lines: dict[tuple[Line, ...], LineScan] = {}
        self._last: tuple[tuple[Line, ...], LineScan] | None = None

    def of(self, lines: tuple[Line, ...]) -> LineScan:
        """The scan of these lines."""
        if self._last is not None and self._last[0] is lines:  # else ten thousand of them would be hashed
            return self._last[1]
        scan = self._by_lines.get(lines)
        if scan is None:
            if len(self._by_lines) > MOST_ORDERS:
                self._by_lines.clear()
            scan = self._by_lines[lines] = LineScan(lines)
        self._last = lines, scan
        return scan

    def note_queued(self, places: Mapping[Place, NewJob | None]) -> None:
        """This process has put jobs in line at these places; one job of each, if known."""
        for scan in self._by_lines.values():
            for place, job in places.items():
                scan.note_queued(place, None if job is None else line_of(job))

    def note_hint(self, places: Collection[Place]) -> None:
        """Another process has put jobs in line, at these places or somewhere."""
        for scan in self._by_lines.values():
            scan.note_hint(places)

    def note_room(self, besides: LineScan | None = None) -> None:
        """There may be more room than is known, except in the scan `besides`, which knows it already."""
        for scan in self._by_lines.values():
            if scan is not besides:
                scan.note_room()

    def forget(self) -> None:
        """Make look-ups due everywhere: more jobs may be claimable now, or fewer, than is known."""
        for scan in self._by_lines.values():
            scan.note_hint()
            scan.forget()
