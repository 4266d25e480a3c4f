"""Many jobs: the list with its search, and dead letters by cause."""
