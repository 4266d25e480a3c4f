"""The Python library: definitions and enqueueing in the caller's process."""
