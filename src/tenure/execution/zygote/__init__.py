"""The fork server: a process that imported the app and forks a child for each attempt."""
