"""Periodic duties that any worker does for all."""
