"""Huey's task, in a module that its consumer can name: on Redis, or in an SQLite file at FULL."""

from huey import RedisHuey, SqliteHuey

from bench.peers.scripts.driving import ADDRESS
from bench.stamps import stamp

huey = (
    RedisHuey("bench", url=ADDRESS, results=False)
    if ADDRESS.startswith("redis://")
    else SqliteHuey("bench", filename=ADDRESS, fsync=True, results=False)
)


@huey.task(name="stamp")
def run(stamps: str) -> None:
    """Leave a stamp."""
    stamp(stamps)
