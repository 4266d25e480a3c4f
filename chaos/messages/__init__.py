"""Messages that name jobs, in a run: their broker, and what workers got from it and removed."""
