"""Counts every request: its method, its route, its status, and how long it took."""

import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]
Count = Callable[[str, str, int, float], None]


class Measured:
    """An ASGI application around another. A request lasts until its answer begins: a stream may never end."""

    def __init__(self, app: Application, count: Count) -> None:
        """`count` is told method, route, status and seconds."""
        self._inner = app
        self._count = count

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._inner(scope, receive, send)
            return
        began = time.perf_counter()

        def count(status: int) -> None:
            route = getattr(scope.get("route"), "path", "none")
            self._count(scope["method"], route, status, time.perf_counter() - began)

        async def send_counted(message: Message) -> None:
            if message["type"] == "http.response.start":
                count(message["status"])
            await send(message)

        try:
            await self._inner(scope, receive, send_counted)
        except Exception:
            count(500)  # what stands around this one answers so
            raise
