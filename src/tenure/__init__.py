"""Tenure: background jobs that are never lost once accepted.

The public names of the library are exactly those listed in ``__all__``.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
