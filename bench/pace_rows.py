"""How soon jobs start that come at a steady pace, from one caller and from ten.

Goals are held against PgQueuer, whose jobs are in PostgreSQL, too. Celery has a broker in memory.
"""

from contextlib import ExitStack, closing
from functools import partial
from statistics import median, quantiles

from bench.figures import Figure, Measured, Probe, figure_of
from bench.goals import PACES
from bench.measure import in_blocks
from bench.peers import PeerUnavailable
from bench.peers.catalogue import ASYNC, RIVALS, Peer
from bench.peers.product import Product
from bench.place import Place

BESIDE = {peer.key: peer for peer in RIVALS if peer.key in {"pgqueuer", "celery"}}
LEAST_JOBS = 40
LONGEST = 20.0
"""Seconds that a round lasts at most: at one job a second it has fewer."""


def pace_row(pace: str, at: Place) -> Measured:
    """Both products at one pace in turns, their workers at work all the time; a ratio for each pair."""
    try:
        with ExitStack() as stack:
            theirs, ours = (_at_work(stack, Product(peer, at)) for peer in (BESIDE["pgqueuer"], ASYNC))
            return (
                _beside(at, pace, ours, theirs, 1)
                + _beside(at, pace, ours, theirs, 10)
                + _alone(at, pace, BESIDE["celery"])
            )
    except PeerUnavailable as error:
        return Measured(remarks=[f"a job every {PACES[pace]:g} s beside PgQueuer: {error}"])


def _at_work(stack: ExitStack, product: Product) -> Product:
    stack.enter_context(closing(product))
    product.home.renew()
    stack.enter_context(product.at_work())
    return product


def _beside(at: Place, pace: str, ours: Product, theirs: Product, callers: int) -> Measured:
    paced = _paced(at, pace, callers)
    found = in_blocks(
        lambda: (paced(ours)["starts"], paced(theirs)["starts"]),
        blocks=at.size.side_pairs,
        watch=at.watch,
        deadline=at.deadline,
    )
    probes = [block.probes for block in found]
    disturbed = sum(block.disturbed for block in found)
    pairs = [block.found for block in found]
    name = f"pace-{pace}" + ("" if callers == 1 else "-ten")
    return Measured(
        [
            figure_of(name, [median(left) / median(right) for left, right in pairs], probes, disturbed),
            figure_of(f"{name}-p99", [_p99(left) / _p99(right) for left, right in pairs], probes, disturbed),
            *_times(f"{name}-tenure", [left for left, _ in pairs], probes),
            *_times(f"{name}-pgqueuer", [right for _, right in pairs], probes),
        ]
    )


def _alone(at: Place, pace: str, peer: Peer) -> Measured:
    """One product at a pace, while nothing is measured beside it: from one caller."""
    try:
        with ExitStack() as stack:
            product, paced = _at_work(stack, Product(peer, at)), _paced(at, pace, 1)
            found = in_blocks(
                lambda: paced(product)["starts"],
                blocks=at.size.side_pairs,
                watch=at.watch,
                deadline=at.deadline,
            )
    except PeerUnavailable as error:
        return Measured(remarks=[f"a job every {PACES[pace]:g} s of {peer.title}: {error}"])
    return Measured(
        _times(f"pace-{pace}-{peer.key}", [block.found for block in found], [block.probes for block in found])
    )


def _paced(at: Place, pace: str, callers: int) -> "partial[dict[str, list[float]]]":
    seconds = PACES[pace]
    jobs = min(max(LEAST_JOBS, int(at.size.pace_seconds / seconds)), int(LONGEST / seconds))
    return partial(Product.paced, jobs=jobs, seconds=seconds, callers=callers)


def _times(name: str, rounds: list[list[float]], probes: list[list[Probe]]) -> list[Figure]:
    each = [start for found in rounds for start in found]
    return [
        figure_of(name, each, probes, unit="ms", of="jobs"),
        figure_of(f"{name}-p99", [_p99(found) for found in rounds], probes, unit="ms", of="rounds"),
    ]


def _p99(starts: list[float]) -> float:
    return quantiles(starts, n=100, method="inclusive")[98]
