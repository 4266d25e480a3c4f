"""Metrics, logs and traces of processes."""
