"""The composition root: builds store, client, worker and server, and runs them together."""
