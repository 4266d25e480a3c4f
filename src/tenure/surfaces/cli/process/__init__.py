"""The process of a command: event loop, log output, hidden secrets, service manager."""
