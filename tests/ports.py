"""Ports for the servers that tests start."""

import random
import socket

_PORTS = range(20_000, 32_000)
"""Below those that systems give to outgoing connections, which could take one while its server is down."""


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens at the moment."""
    while True:
        port = random.SystemRandom().choice(_PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
