"""Metrics, traces and logs: listeners that the engine does not know."""
