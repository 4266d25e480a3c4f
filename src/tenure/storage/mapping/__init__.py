"""Between core values and rows, for both stores."""
