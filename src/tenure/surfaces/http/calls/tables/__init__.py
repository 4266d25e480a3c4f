"""The routes of each audience."""
