"""`tenure jobs steps`, `signal` and `answer`: the progress that jobs keep, and what is sent to them."""
