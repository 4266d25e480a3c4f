"""An app whose params and results are models, as a user would write it."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, field_validator

from tenure import Context, Tenure

app = Tenure()


class Order(BaseModel):
    to: str
    at: datetime

    @field_validator("to")
    @classmethod
    def has_a_domain(cls, to: str) -> str:
        """Refuse what is no address."""
        if "@" not in to:
            raise ValueError("has no domain")
        return to


class Receipt(BaseModel):
    order: Order
    attempt: int


Lane = Literal["process", "warm", "async"]
LANES: tuple[Lane, ...] = ("process", "warm", "async")


def define(lane: Lane) -> None:
    """A definition in a lane."""

    @app.job(f"order.{lane}", lane=lane)
    async def take(params: Order, ctx: Context) -> Receipt:
        return Receipt(order=params, attempt=ctx.attempt)


for lane in LANES:
    define(lane)
