"""Backups that are really taken and restored, of stores that are being written to."""
