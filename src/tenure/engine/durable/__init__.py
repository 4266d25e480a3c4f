"""Progress of handlers, between the worker and the store: what is kept, in shared writes."""
