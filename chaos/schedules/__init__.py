"""Schedules under faults: what was asked of them, what their rules say, and runs that are after them."""
