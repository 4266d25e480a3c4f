"""`tenure webhooks`, which shows webhooks and their deliveries, and changes them."""
