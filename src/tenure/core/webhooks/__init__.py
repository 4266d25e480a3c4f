"""Webhooks: which events an endpoint asks for, what is sent to it, and what became of that."""
