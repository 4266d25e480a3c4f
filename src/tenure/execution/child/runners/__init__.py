"""Children that run many attempts: lanes `warm`, `thread` and `async`."""
