"""Running attempts, in processes that know nothing of the store."""
