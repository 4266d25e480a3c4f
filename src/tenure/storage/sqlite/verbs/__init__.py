"""The verbs of the SQLite store, by subject."""
