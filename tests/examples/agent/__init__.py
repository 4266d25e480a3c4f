"""The agent of the examples: by the clock of a test, and killed in real processes."""
