"""Rivals that the product is measured beside, each installed into a folder of the bench's own."""


class PeerUnavailable(RuntimeError):
    """A rival, or the server that it needs, cannot be had here; the text says why."""
