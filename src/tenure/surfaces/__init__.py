"""The library, the command line, the HTTP server, its dashboard and its client."""
