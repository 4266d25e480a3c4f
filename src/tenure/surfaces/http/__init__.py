"""The HTTP surface: it records intent and reads state, keeps nothing of its own, and runs no job."""
