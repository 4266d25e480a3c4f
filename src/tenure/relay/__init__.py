"""Webhooks on their way: the feed becomes deliveries, which are signed and sent to checked addresses."""
