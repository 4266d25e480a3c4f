"""Connections to PostgreSQL, and what travels on them."""
