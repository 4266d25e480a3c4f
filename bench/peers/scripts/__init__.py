"""One small program for each product, which runs in that product's own environment; see `driving`."""
