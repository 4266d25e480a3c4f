"""Where jobs are kept: one contract, two stores. Knows SQL; no driver's error leaves it."""
