"""What both stores promise, verb by verb: protocols and docstrings only."""
