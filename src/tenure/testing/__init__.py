"""For tests of jobs: a harness that runs them without processes or waiting, and a context that remembers."""

from tenure.testing.context import RecordingContext as Context
from tenure.testing.crash_matrix import crash_matrix
from tenure.testing.crash_report import CrashMatrix, CrashRun
from tenure.testing.harness import AsyncHarness, Harness, harness
from tenure.testing.harness_jobs import HarnessJob
from tenure.testing.shift import Endless

__all__ = [
    "AsyncHarness",
    "Context",
    "CrashMatrix",
    "CrashRun",
    "Endless",
    "Harness",
    "HarnessJob",
    "crash_matrix",
    "harness",
]
