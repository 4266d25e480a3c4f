"""Definitions, the client that every surface calls, and the worker; knows neither SQL nor HTTP."""
