"""Clients of a Tenure server: what to ask and what an answer means once, and two ways to wait for it."""
