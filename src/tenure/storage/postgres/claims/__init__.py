"""How a claim on PostgreSQL finds its jobs; the head of `verbs/turn` draws the flow."""
