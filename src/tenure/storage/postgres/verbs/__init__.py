"""The verbs of the PostgreSQL store, by subject."""
