"""The database file: its writer, its readers, locks and clock."""
