"""The version of Tenure."""

__version__ = "0.1.0"
