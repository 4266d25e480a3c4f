"""Schedules: their changes by operators and code, and the jobs that they make when they fire."""
