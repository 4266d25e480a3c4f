"""The storage contract and its two stores; the only place that knows SQL."""
