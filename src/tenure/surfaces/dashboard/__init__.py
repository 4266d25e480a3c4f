"""Web pages: what jobs there are, which are stuck and why, and buttons to act on them."""
