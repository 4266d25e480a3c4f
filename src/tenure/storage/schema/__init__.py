"""Migrations, guards and the loading of SQL files."""
