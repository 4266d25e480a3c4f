"""Sockets, connections, and the checks that every request goes through on its way to its handler."""
