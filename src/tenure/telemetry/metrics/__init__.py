"""Metrics of workers and of the API, and their exposition to Prometheus."""
