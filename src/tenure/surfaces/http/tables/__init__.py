"""The rows of the table of routes, a file for each thing they are about."""
