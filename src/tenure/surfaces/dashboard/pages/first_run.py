"""The first page before there is any job: three steps to the first one, which tick themselves off."""

from collections.abc import Mapping, Sequence

from tenure.core.model.states import State
from tenure.core.reports.failures import Count
from tenure.core.reports.reading import Filter
from tenure.surfaces.dashboard.pages.troubles import TroubleItem
from tenure.surfaces.dashboard.renderer import render
from tenure.surfaces.http.app.context import AppContext, Request, Response

WAYS = {"terminal": "Terminal", "python": "Python", "http": "HTTP"}
MOST_NAMED = 3

PROGRAM = """from dataclasses import dataclass

from tenure import Context, Tenure

app = Tenure()

@dataclass
class Welcome:
    to: str

@app.job("email.welcome", max_attempts=5)
async def welcome(params: Welcome, ctx: Context) -> None:
    ctx.log.info("sending", to=params.to)
    ctx.progress(1.0, "sent")
"""
COMMANDS = {
    "terminal": """tenure enqueue email.welcome --params '{"to": "ada@example.com"}' --wait""",
    "python": """from jobs import Welcome, app, welcome

with app:
    welcome.enqueue(Welcome(to="ada@example.com"))""",
    "http": """curl {url}/v1/jobs --json \\
  '{"definitionKey": "email.welcome", "params": {"to": "ada@example.com"}}'""",
}


async def first_run(
    context: AppContext, request: Request, counts: Mapping[State, Count], troubles: Sequence[TroubleItem]
) -> Response:
    """The page, with what is done by now, and what is wrong even so."""
    client = context.client
    definitions = list(dict.fromkeys(one.key for one in await client.definitions()))
    workers = [one for one in await client.workers() if one.is_alive]
    job = None
    if any(count.n for count in counts.values()):
        newest = await client.page(Filter(), limit=1)
        job = next(iter(newest.jobs), None)
    way = request.query.get("how", "terminal")
    host = request.headers.get("host", "127.0.0.1:8000")
    return render(
        request,
        "first_run.html",
        fragment="_first_run.html",
        troubles=troubles,
        definitions=definitions[:MOST_NAMED],
        in_all=len(definitions),
        workers=len(workers),
        job=job,
        done=sum(map(bool, (definitions, workers, job))),
        program=PROGRAM,
        command=COMMANDS[way].replace("{url}", f"http://{host}"),
        way=WAYS[way],
        ways=[(f"/?first=run&how={name}", word) for name, word in WAYS.items()],
        follow=f"/?first=run&how={way}",
    )
