"""Workers on real databases, their attempts real processes."""
