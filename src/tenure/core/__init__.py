"""What a job is and which steps it may take; no I/O, no clock."""
