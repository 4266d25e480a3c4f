"""Runs attempts in processes of their own; knows no database."""
