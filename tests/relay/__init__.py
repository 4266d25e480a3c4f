"""What leaves the store for others."""
