"""Rows by whom they are for: each audience has its scope and, mostly, its method."""

from typing import Any

from tenure.surfaces.http.routes import Route


def client(method: str, path: str, **rest: Any) -> Route:
    """A row for whoever submits work."""
    return Route(method=method, path=path, audience="client", scope="submit", **rest)


def reader(path: str, **rest: Any) -> Route:
    """A row for operators who look."""
    return Route(method="GET", path=path, audience="operator", scope="read", **rest)


def operator(path: str, **rest: Any) -> Route:
    """A row for operators who change something."""
    return Route(method="POST", path=path, audience="operator", scope="operate", **rest)


def of_process(path: str, **rest: Any) -> Route:
    """A row that is open to all, since it tells of the process and of no job."""
    return Route(method="GET", path=path, audience="process", scope=None, **rest)
