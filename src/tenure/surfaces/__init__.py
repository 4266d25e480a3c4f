"""Where people and programs meet Tenure. Knows nothing of how a store works."""
