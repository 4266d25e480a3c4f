"""The vocabularies in which jobs are shown to callers."""
