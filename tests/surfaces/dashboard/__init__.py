"""The dashboard, as a browser speaks to it."""
