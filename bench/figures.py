"""What a run yields: raw rounds, and the figures made of them. All of it is written as JSON as it stands."""

from statistics import median, quantiles

from msgspec import Struct


class Round(Struct, frozen=True):
    """One timed stretch of work. CPU is in seconds; what cannot be told apart is None."""

    jobs: int
    seconds: float
    client_cpu: float | None = None
    server_cpu: float | None = None


class Probe(Struct, frozen=True):
    """How many seconds the machine takes for a fixed piece of computing, and for one sync to disk."""

    spin: float
    sync: float


class Pair(Struct, frozen=True):
    """Two rounds side by side, with probes before, between and after, and whether these tell of others."""

    left: Round
    right: Round
    probes: list[Probe]
    disturbed: bool

    @property
    def ratio(self) -> float:
        """How much faster the left one was."""
        return _rate(self.left) / _rate(self.right)


class Figure(Struct, frozen=True):
    """A value with its quartiles and the samples it is the median of, with the probes around each of them."""

    name: str
    value: float
    low: float
    high: float
    samples: list[float]
    probes: list[list[Probe]] = []
    disturbed: int = 0
    unit: str = ""
    of: str = "pairs"


class Speed(Struct, frozen=True):
    """How fast one thing went, round by round."""

    what: str
    rounds: list[Round]
    of: str = "jobs"

    @property
    def rate(self) -> float:
        """Jobs a second."""
        return median(_rate(each) for each in self.rounds)

    @property
    def client_micros(self) -> float | None:
        """CPU of the client for each job."""
        return _micros([(each.client_cpu, each.jobs) for each in self.rounds])

    @property
    def server_micros(self) -> float | None:
        """CPU of the server, its background processes included, for each job."""
        return _micros([(each.server_cpu, each.jobs) for each in self.rounds])


class Measured(Struct, frozen=True):
    """What one row of the bench has found."""

    figures: list[Figure] = []
    speeds: list[Speed] = []
    remarks: list[str] = []
    """What could not be measured, and why."""

    def __add__(self, other: "Measured") -> "Measured":
        return Measured(
            [*self.figures, *other.figures],
            [*self.speeds, *other.speeds],
            [*self.remarks, *other.remarks],
        )


class Report(Struct, frozen=True, kw_only=True):
    """A whole run."""

    machine: dict[str, str]
    quick: bool
    seconds: float
    rows: dict[str, Measured]
    failures: dict[str, str] = {}

    @property
    def figures(self) -> dict[str, Figure]:
        """Every figure by its name."""
        return {figure.name: figure for measured in self.rows.values() for figure in measured.figures}

    @property
    def remarks(self) -> list[str]:
        """Every remark."""
        return [remark for measured in self.rows.values() for remark in measured.remarks]


def figure_of(
    name: str,
    samples: list[float],
    probes: list[list[Probe]] | None = None,
    disturbed: int = 0,
    *,
    unit: str = "",
    of: str = "pairs",
) -> Figure:
    """The median of the samples with its quartiles."""
    low, value, high = quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else samples * 3
    return Figure(name, value, low, high, samples, probes or [], disturbed, unit, of)


def _rate(each: Round) -> float:
    return each.jobs / each.seconds


def _micros(spent: list[tuple[float | None, int]]) -> float | None:
    known = [1e6 * cpu / jobs for cpu, jobs in spent if cpu is not None]
    return median(known) if known else None
