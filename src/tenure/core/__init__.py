"""What a job is and which steps it may take: pure values and decisions, no clock, no I/O, no randomness."""
