"""Running attempts: each in a process of its own that knows nothing of the store."""
