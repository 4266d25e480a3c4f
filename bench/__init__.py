"""Measures the product, as ratios taken side by side in one run; `bench.storage` is the storage layer."""
