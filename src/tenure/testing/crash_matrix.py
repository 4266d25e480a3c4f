"""Runs a job once for each moment at which its process can die, and tells which effects came out wrong.

The store, the steps and the clock are those of the harness, so each run takes milliseconds. A run begins on
an empty store, at the same time and under the same job id; what the test itself keeps is not made anew, so
effects are counted from the beginning of each run.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from datetime import UTC, datetime
from uuid import uuid4

from msgspec.structs import replace

from tenure.core.errors import InvalidInput, TenureError
from tenure.core.model.job import NewJob
from tenure.core.model.states import State
from tenure.core.values.bounds import whole
from tenure.surfaces.library.app import Tenure
from tenure.surfaces.library.definition import JobDefinition
from tenure.testing.bound_app import Which
from tenure.testing.crash_harness import CrashHarness, Helpers, RunResult
from tenure.testing.crash_points import CrashPoint, Side
from tenure.testing.crash_report import CrashMatrix, CrashRun
from tenure.testing.crashing_attempt import silent_deaths
from tenure.testing.effect_counts import EffectCounts, Effects

_HIGHEST_BOUND = 10_000


def crash_matrix(
    app: Tenure,
    job: Which,
    params: object,
    effects: Effects,
    *,
    signals: Mapping[str, object] | None = None,
    happened: Callable[[str], bool] | None = None,
    prepare: Callable[[], object] | None = None,
    most_points: int = 100,
    same_result: bool = True,
) -> CrashMatrix:
    """Run a job and crash it before and after everything that it puts on record: `assert matrix.clean`.

    `effects` is a list that the code under test adds to, or a function that returns all that has happened so
    far; what counts is how often each effect is in it. `signals` are payloads of those that the job waits
    for. Of an effect in doubt the matrix knows whether it happened, unless its function raised: `happened`
    says so then, by the name of its step. `prepare` is called before each run. With `same_result` the job is
    to have the same result after each crash.

    Raises TenureError if the job does not succeed, or does not do the same each time, without any crash.
    """
    whole("most_points", most_points, 1, _HIGHEST_BOUND)
    _refuse_a_running_loop()
    runs = _Runs(
        app, job, params, EffectCounts(effects), Helpers(dict(signals or {}), happened), prepare or _nothing
    )
    expected = runs.without_a_crash(same_result)
    if len(expected.frames) > most_points:
        raise InvalidInput(
            "most_points",
            f"is {most_points}, and {runs.name} has {len(expected.frames)} points",
            "give params that make the job shorter, or a higher bound",
        )
    made = []
    for number, what in enumerate(expected.frames, 1):
        for side in Side:
            result = runs.make(CrashPoint(number, side))
            made.append(_compared(number, what, side, expected, result, same_result))
    return CrashMatrix(runs.name, made, expected.effects, expected.job.result)


class _Runs:
    """Makes runs of one job that are alike but for the crash."""

    def __init__(
        self,
        app: Tenure,
        job: Which,
        params: object,
        counts: EffectCounts,
        helpers: Helpers,
        prepare: Callable[[], object],
    ) -> None:
        self.name = job.key if isinstance(job, JobDefinition) else job
        self._app = app
        self._given = job, params
        self._id = uuid4()
        self._at = datetime.now(UTC)
        self._counts = counts
        self._helpers = helpers
        self._prepare = prepare

    def without_a_crash(self, same_result: bool) -> RunResult:
        """What comes of the job by itself, twice: only what is the same each time can be compared."""
        first, second = self.make(None), self.make(None)
        for what, one, other in (
            ("effects", _listed(first.effects), _listed(second.effects)),
            ("crash points", sorted(first.frames), sorted(second.frames)),
            *([("result", first.job.result, second.job.result)] if same_result else []),
        ):
            if one != other:
                raise TenureError(
                    f"{self.name} has other {what} each time, without any crash: first {one!r:.300}, then "
                    f"{other!r:.300}; {_REMEDIES[what]}"
                )
        return first

    def make(self, point: CrashPoint | None) -> RunResult:
        """Run the job once."""
        self._prepare()
        harness = CrashHarness(self._app, self._at, point, self._counts)
        harness.open()
        try:
            with silent_deaths():
                result = harness.run(self._job(harness), self._helpers)
        finally:
            harness.close()
        if point is None and result.job.state is not State.SUCCEEDED:
            raise TenureError(f"{self.name} does not succeed, without any crash: {_end_of(result)}")
        if point is not None and not result.has_crashed:
            raise TenureError(
                f"{self.name} did not come to its crash point {point.number} this time: "
                "a handler that does not do the same each time cannot be compared"
            )
        return result

    def _job(self, harness: CrashHarness) -> NewJob:
        definition, params = self._given
        spec = harness._spec(definition)
        job = self._app.new_job(spec.key, params, version=spec.version)
        return replace(job, id=self._id)


_REMEDIES = {
    "effects": "leave out what differs, such as times and random ids, or have `prepare` begin anew, such as "
    "by clearing what services have remembered",
    "crash points": "have it do the same each time, whatever the time and the order of its tasks",
    "result": "leave out what differs, or give same_result=False",
}


def _compared(
    number: int, what: str, side: Side, expected: RunResult, result: RunResult, same_result: bool
) -> CrashRun:
    wanted, found = expected.effects, result.effects
    return CrashRun(
        number=number,
        what=what,
        side=side.value,
        starts=result.starts,
        state=result.job.state,
        error=result.job.error,
        twice={one: found[one] for one in wanted if found[one] > wanted[one]},
        never=[one for one in wanted if found[one] < wanted[one]],
        other=[one for one in found if one not in wanted],
        result=result.job.result,
        is_result_right=not same_result
        or result.job.state is not State.SUCCEEDED
        or result.job.result == expected.job.result,
    )


def _listed(effects: Counter[Hashable]) -> list[str]:
    return sorted(repr(one) for one in effects.elements())


def _end_of(result: RunResult) -> str:
    job = result.job
    if job.error is None:
        return f"it ended {job.state}"
    trace = f"\n{job.error.traceback}" if job.error.traceback else ""
    return f"it ended {job.state}, by {job.error.kind}: {job.error.message}{trace}"


def _refuse_a_running_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise TenureError(
        "an event loop is running: make the test a plain `def`, or write "
        "`await asyncio.to_thread(crash_matrix, app, …)`; async handlers get a loop of their own"
    )


def _nothing() -> None: ...
