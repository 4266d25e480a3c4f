"""The library: `Tenure`, its decorator, and handles on jobs."""
