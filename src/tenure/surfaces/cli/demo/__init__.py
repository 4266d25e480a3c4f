"""`tenure demo` and its sample jobs."""
