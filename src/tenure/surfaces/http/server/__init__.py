"""Sockets and connections: what is read, how much of it, and how they close."""
