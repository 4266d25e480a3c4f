"""What one would write by hand: a Starlette route that keeps a job by one INSERT, over a pool of asyncpg."""

import asyncio
import json
import sys
from uuid import UUID, uuid4

import asyncpg
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tenure.surfaces.http.server.server import listen

TABLE = """
    CREATE TABLE IF NOT EXISTS kept_by_hand (
        id          uuid        PRIMARY KEY,
        definition  text        NOT NULL,
        params      jsonb       NOT NULL,
        key         text        NOT NULL UNIQUE,
        status      text        NOT NULL DEFAULT 'queued',
        created_at  timestamptz NOT NULL DEFAULT now()
    )
"""
INSERT = """
    INSERT INTO kept_by_hand (id, definition, params, key) VALUES ($1, $2, $3, $4)
        ON CONFLICT (key) DO NOTHING RETURNING id
"""
FIND = "SELECT id FROM kept_by_hand WHERE key = $1"


class ByHand:
    """The application: it looks at the body as little as it may, and answers after the commit."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self._pool = pool
        self.app = Starlette(routes=[Route("/v1/jobs", self._create, methods=["POST"])])

    async def _create(self, request: Request) -> JSONResponse:
        body = await request.json()
        params = body["params"]
        if not isinstance(params, dict) or not isinstance(params.get("to"), str):
            return JSONResponse({"detail": "params need a text `to`"}, 422)
        key = body["idempotencyKey"]
        job: UUID | None = await self._pool.fetchval(
            INSERT, uuid4(), body["definitionKey"], json.dumps(params), key
        )
        if job is None:
            job = await self._pool.fetchval(FIND, key)
        return JSONResponse({"jobId": str(job), "status": "queued"}, 202)


async def _serve(dsn: str) -> None:
    async with asyncpg.create_pool(dsn) as pool:
        await pool.execute(TABLE)
        connection = listen("127.0.0.1", 0)
        host, port = connection.getsockname()[:2]
        config = uvicorn.Config(
            ByHand(pool).app,
            loop="uvloop",
            http="httptools",
            lifespan="off",
            access_log=False,
            log_level="error",
        )
        print(f"http://{host}:{port} on a table of its own", file=sys.stderr, flush=True)
        await uvicorn.Server(config).serve(sockets=[connection])


if __name__ == "__main__":
    uvloop.install()
    asyncio.run(_serve(sys.argv[1]))
