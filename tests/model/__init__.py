"""The stores compared with a model of them: the same requests to both, everything visible compared."""
