"""The first screen: how many jobs there are in each state."""

from tenure.surfaces.dashboard.rendering import render
from tenure.surfaces.http.desk import Answer, Asked, Desk


async def overview(desk: Desk, asked: Asked) -> Answer:
    """Counts by state."""
    figures = await desk.client.statistics.figures()
    return render(asked, "overview.html", counts=figures.counts)
