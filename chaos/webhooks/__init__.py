"""Runs after webhooks: receivers that misbehave, and what sends to them is killed."""
