"""Breaks a running Tenure on purpose, by a seed, and checks what is left against what was promised."""
