"""Databases whose clock is real, as for workers; and commands that run on."""

from tests.surfaces.conftest import database, start
from tests.worker.conftest import address, store

__all__ = ["address", "database", "start", "store"]
