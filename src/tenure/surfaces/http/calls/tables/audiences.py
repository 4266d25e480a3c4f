"""Rows by audience: each has its scope and, mostly, its method."""

from typing import Any

from tenure.surfaces.http.app.routes import Route


def client(method: str, path: str, **rest: Any) -> Route:
    """A row for clients that submit work."""
    return Route(method=method, path=path, audience="client", scope="submit", **rest)


def reader(path: str, **rest: Any) -> Route:
    """A row for operators that read."""
    return Route(method="GET", path=path, audience="operator", scope="read", **rest)


def operator(path: str, **rest: Any) -> Route:
    """A row for operators that change something."""
    return Route(method="POST", path=path, audience="operator", scope="operate", **rest)


def changer(method: str, path: str, **rest: Any) -> Route:
    """A row for operators that change one thing of a namespace, by a method of its own."""
    return Route(method=method, path=path, audience="operator", scope="operate", is_namespaced=True, **rest)


def of_process(path: str, **rest: Any) -> Route:
    """A row that is open to all, since it shows the process and no job."""
    return Route(method="GET", path=path, audience="process", scope=None, **rest)
