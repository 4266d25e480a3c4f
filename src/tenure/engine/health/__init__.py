"""An examination of a store: what is wrong with it and with those that work on it."""
