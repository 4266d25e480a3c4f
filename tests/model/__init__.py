"""The stores held against a model of them: the same requests to both, everything visible compared."""
