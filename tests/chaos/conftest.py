"""The stores of the storage suite, with a clock that tests move by hand."""

from tests.storage.conftest import database_kind

__all__ = ["database_kind"]
