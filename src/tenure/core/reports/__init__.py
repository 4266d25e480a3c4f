"""What is read back: lists, totals, dead letters, access, results."""
