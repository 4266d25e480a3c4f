"""For tests of jobs: a harness that runs them without processes or waiting, and a context that remembers."""

from tenure.testing.context import RecordingContext as Context
from tenure.testing.harness import AsyncHarness, Harness, harness
from tenure.testing.harness_jobs import HarnessJob
from tenure.testing.shift import Endless

__all__ = ["AsyncHarness", "Context", "Endless", "Harness", "HarnessJob", "harness"]
