"""Settings: their defaults and bounds, and the sources they are read from."""
