"""What leaves the store for others: webhooks and messages."""
