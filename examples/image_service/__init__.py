"""A service that takes pictures and publishes them in several sizes, on Tenure."""
