"""What is sent over HTTP, as values that server, command line, dashboard and client share."""
