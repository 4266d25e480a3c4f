"""Webhooks as operators change them."""
