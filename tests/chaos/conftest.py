"""The stores of the storage suite, with a clock that tests move by hand."""

from tests.storage.conftest import backend, clock, store

__all__ = ["backend", "clock", "store"]
