"""Commands and options of other job systems, and Tenure's own: what a wrong one gets as an answer."""

import click

_NOT_NEEDED = "nothing: workers fire schedules and look after the database by themselves"
_WORDS = {
    "tenure": {
        "ls": "`tenure jobs list`",
        "status": "`tenure jobs list`, `tenure workers` or `tenure doctor`",
        "stats": "`tenure queues` or `tenure doctor`",
        "inspect": "`tenure workers`, or `tenure jobs show ID`",
        "flower": "`tenure serve`, which has a dashboard",
        "dashboard": "`tenure serve`, which has one",
        "beat": f"`tenure schedules`; to start, {_NOT_NEEDED}",
        "run": "`tenure worker MODULE:APP` or `tenure serve MODULE:APP`",
        "start": "`tenure worker MODULE:APP` or `tenure serve MODULE:APP`",
        "init": "`tenure migrate`",
        "upgrade": "`tenure migrate`",
        "call": "`tenure enqueue KEY`",
        "result": "`tenure jobs show ID`",
        "retry": "`tenure jobs replay ID`",
        "requeue": "`tenure jobs replay ID`",
        "revoke": "`tenure jobs cancel ID`",
        "approve": "`tenure jobs signal ID NAME PAYLOAD`",
    },
    "jobs": {
        "ls": "`tenure jobs list`",
        "get": "`tenure jobs show ID`",
        "result": "`tenure jobs show ID`",
        "status": "`tenure jobs show ID`",
        "tail": "`tenure jobs logs ID`",
        "retry": "`tenure jobs replay ID`",
        "requeue": "`tenure jobs replay ID`",
        "rerun": "`tenure jobs replay ID`",
        "revoke": "`tenure jobs cancel ID`",
        "abort": "`tenure jobs cancel ID`",
        "kill": "`tenure jobs cancel ID`",
        "delete": "`tenure jobs purge`",
        "create": "`tenure enqueue KEY`",
        "resume": "`tenure jobs signal ID NAME PAYLOAD`",
        "send": "`tenure jobs signal ID NAME PAYLOAD`",
        "notify": "`tenure jobs signal ID NAME PAYLOAD`",
        "approve": "`tenure jobs signal ID NAME PAYLOAD`",
        "resolve": "`tenure jobs answer ID STEP`",
    },
    "schedules": {
        "ls": "`tenure schedules list`",
        "get": "`tenure schedules show NAME`",
        "add": "`tenure schedules create NAME`",
        "update": "`tenure schedules edit NAME`",
        "set": "`tenure schedules edit NAME`",
        "remove": "`tenure schedules delete NAME`",
        "rm": "`tenure schedules delete NAME`",
        "disable": "`tenure schedules pause NAME`",
        "suspend": "`tenure schedules pause NAME`",
        "enable": "`tenure schedules resume NAME`",
        "run": "`tenure schedules trigger NAME`",
        "run-now": "`tenure schedules trigger NAME`",
        "history": "`tenure schedules ticks NAME`",
    },
}
"""By the name of a group: what to use for a command that it does not have."""

_APP = "`tenure worker MODULE:APP`, with the app as an argument"
_OPTIONS = {
    "-A": _APP,
    "--app": _APP,
    "-c": "--slots",
    "--concurrency": "--slots",
    "--processes": "--slots",
    "-Q": "--queues",
    "-q": "--queues",
    "--pool": "lane= in @app.job",
    "-P": "lane= in @app.job",
    "-B": _NOT_NEEDED,
    "--beat": _NOT_NEEDED,
    "-l": "TENURE_LOG_LEVEL",
    "--loglevel": "TENURE_LOG_LEVEL",
}
"""What to use for options that workers of other systems have."""


class WordedCommand(click.Command):
    """A command that answers an option of another system's worker with the right word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments into the context."""
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            if (word := _OPTIONS.get(error.option_name)) is None:
                raise
            raise click.UsageError(f"No such option {error.option_name}; use {word}.", ctx) from None


class WordedGroup(WordedCommand, click.Group):
    """A group that answers a command of another system, or of one of its own groups, with the right one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant by the first of the arguments."""
        if args and self.get_command(ctx, args[0]) is None and (word := self._word(args[0])):
            ctx.fail(f"No such command {args[0]!r}; use {word}.")
        return super().resolve_command(ctx, args)

    def _word(self, name: str) -> str | None:
        jobs = self.commands.get("jobs")
        if isinstance(jobs, click.Group) and name in jobs.commands:
            return f"`tenure jobs {name}`"
        return _WORDS[self.name or "tenure"].get(name)
