"""What processes count, and how it is told."""
