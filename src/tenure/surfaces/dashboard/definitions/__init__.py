"""Definitions: the list, one with its figures, its policy and a form that starts a job, and retention."""
