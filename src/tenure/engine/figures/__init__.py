"""Figures of a store: how many jobs are in each state, how they ended lately, and what is usual."""
