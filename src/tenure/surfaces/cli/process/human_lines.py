"""Log entries as lines for people on standard error, no faster than people can read."""

import json
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import click

from tenure.core.model.states import State
from tenure.core.values.text import plain
from tenure.surfaces.cli.output import COLOURS, LEVEL_COLOURS
from tenure.telemetry.logs.logs import LogEntry
from tenure.telemetry.logs.structured import Hide, HideFields, no_fields

MOST_AT_ONCE = 10
"""How many successes of one batch get a line each: nobody reads faster."""

LONGEST_REASON = 200
"""How many characters of a reason are shown."""


class HumanLines:
    """Formats log entries for `NonblockingStdio`."""

    def __init__(self, hide: Hide, *, is_coloured: bool, hide_fields: HideFields = no_fields) -> None:
        self._hide = hide
        self._hide_fields = hide_fields
        self._is_coloured = is_coloured
        self._encoding = getattr(sys.stderr, "encoding", None) or "utf-8"

    def __call__(self, entries: Sequence[LogEntry], dropped: int) -> list[bytes]:
        """The lines of these entries; of many successes, the first and the number of the others."""
        if dropped:
            entries = [LogEntry(time.time(), "warning", "log.dropped", {"count": dropped}), *entries]
        lines, successes = list[str](), 0
        for entry in entries:
            if entry.fields.get("state") is State.SUCCEEDED:
                successes += 1
                if successes > MOST_AT_ONCE:
                    continue
            lines += self._lines(entry)
        if (more := successes - MOST_AT_ONCE) > 0:
            lines.append(f"{_clock(entries[-1])} {self._coloured(f'{more} more succeeded', State.SUCCEEDED)}")
        return [f"{line}\n".encode(self._encoding, "backslashreplace") for line in lines]

    def _lines(self, entry: LogEntry) -> Iterator[str]:
        fields = entry.fields
        if entry.event == "attempt.line":
            yield from self._job_lines(entry)
            return
        if "message" in fields:
            text = plain(self._hide(fields["message"]))
            # Captured output may look like a line of ours, so it is marked.
            yield f"{_clock(entry)} | {text}" if entry.event == "output" else text
            return
        reason = (self._hide(fields.get("reason", "")).splitlines() or [""])[0][:LONGEST_REASON]
        text = plain(human_line(entry.event, {**fields, "reason": reason}))
        yield f"{_clock(entry)} {self._coloured(text, fields.get('state'))}"
        for line in self._hide(fields.get("error", "")).splitlines():
            yield f"    {plain(line)}"

    def _job_lines(self, entry: LogEntry) -> Iterator[str]:
        """A line that a job wrote: marked, since it may look like one of ours."""
        fields = entry.fields
        extra = json.loads(self._hide_fields(fields["fields"])) if "fields" in fields else {}
        logger, trace = extra.pop("logger", None), extra.pop("exception", None)
        level = fields["line"]
        if self._is_coloured:
            level = click.style(level, fg=LEVEL_COLOURS.get(level))
        text = self._hide(fields["message"])
        if isinstance(logger, str):
            text = f"{logger}: {text}"
        if extra:
            text += f"  {json.dumps(extra, ensure_ascii=False)}"
        of = plain(f"{fields['definition']} {str(fields['jobId'])[-8:]} attempt {fields['attempt']}")
        yield f"{_clock(entry)} {of} {level} | {plain(text)}"
        for line in trace.splitlines() if isinstance(trace, str) else ():
            yield f"    {plain(line)}"

    def _coloured(self, text: str, state: State | None) -> str:
        colour = COLOURS.get(state) if state and self._is_coloured else None
        return text if colour is None else text.replace(f" {state}", f" {click.style(state, fg=colour)}", 1)


def human_line(event: str, fields: dict[str, Any]) -> str:
    """A log entry as one line of text."""
    match event, fields:
        case "worker.ready", {"worker": worker, "lines": lines, "slots": slots}:
            return f"{worker} serves {lines} line(s) with {slots} slot(s)"
        case "worker.draining", {"waitSeconds": seconds}:
            return _draining_line(seconds, fields)
        case "worker.halting", {"worker": worker, "reason": reason, "running": running}:
            return f"{worker} ends {_jobs(running)} ({reason}); to be handed back costs them no attempt"
        case "worker.stopped", {"worker": worker, "handedBack": handed_back, "abandoned": left}:
            return f"{worker} has stopped; {handed_back} handed back, {left} left to their leases"
        case "hook.failed", {"jobId": job, "hook": hook, "reason": reason}:
            return f"hook {hook} of {str(job)[-8:]} failed: {reason}"
        case "jobs.reaped" | "jobs.promoted", {"count": count}:
            how = "taken back from workers that were lost" if event == "jobs.reaped" else "came due"
            return f"{count} job(s) {how}"
        case "schedule.ticked", {"schedule": schedule, "outcomes": outcomes, "reason": reason}:
            told = ", ".join(f"{count} {outcome.replace('_', ' ')}" for outcome, count in outcomes.items())
            return f"schedule {schedule}: {told}" + (f": {reason}" if reason else "")
        case "request.answered", {
            "method": method,
            "route": route,
            "status": status,
            "durationSeconds": took,
        }:
            return f"{method} {route} {status} in {1000 * took:.0f} ms"
        case "request.failed", {"requestId": request, "reason": reason}:
            return f"request {request} failed: {reason}"
        case "library", {"logger": logger, "reason": reason}:
            return f"{logger}: {reason}"
        case "log.dropped", {"count": count}:
            return f"{count} line(s) dropped: standard error was read too slowly"
        case _:
            return _trouble_line(event, fields)


def _draining_line(seconds: float | None, fields: dict[str, Any]) -> str:
    worker, reason, running = fields["worker"], fields["reason"], fields["running"]
    if seconds is None:
        return f"{worker} claims no more ({reason}); {running} running"
    if not running:
        return f"{worker} stops ({reason}); no job is running"
    are, them = ("is", "it") if running == 1 else ("are", "them")
    line = f"{worker} stops ({reason}): {_jobs(running)} {are} running; waits up to {seconds:g} s for {them}"
    if "SIG" not in reason:
        return line
    return f"{line} ({'Ctrl-C again' if 'SIGINT' in reason else 'a second signal'} ends {them} at once)"


def _jobs(count: int) -> str:
    return f"{count} job" if count == 1 else f"{count} jobs"


def _trouble_line(event: str, fields: dict[str, Any]) -> str:
    match event, fields:
        case "loop.failed", {"loop": loop, "reason": reason, "failures": failures}:
            return f"{loop}: {reason} ({failures} in a row)"
        case "loop.recovered", {"loop": loop}:
            return f"{loop} works again"
        case "schedule.unreadable", {"schedule": schedule, "reason": reason}:
            return f"schedule {schedule} is left to other processes: {reason}"
        case "webhook.paused", {"webhook": webhook, "host": host, "reason": reason}:
            return f"webhook {webhook} to {host} is paused: {reason}"
        case "connections.short", {"open": opened, "waiting": waiting, "reason": reason}:
            return f"no connection to spare: {waiting} call(s) wait for one of {opened}: {reason}"
        case "messages.foreign", {"store": store, "count": count}:
            return f"{count} message(s) of another store, {store}, left to its workers"
        case "messages.unreadable", {"reason": reason}:
            return f"removed what is no message of ours: it begins with {reason}"
        case "messages.unsent", {"count": count, "reason": reason}:
            return f"messages not sent: {reason}" + (f"; {count} given up" if count else "")
        case "messages.reminded", {"count": count}:
            return f"{count} job(s) waited for long, and are named by a message once more"
        case "connections.freed", {"durationSeconds": seconds}:
            return f"nobody waits for a connection any more, after {seconds:.1f} s"
        case "schedule.unreadable", {"schedule": schedule, "reason": reason}:
            return f"schedule {schedule}: {reason}"
        case _:
            return _attempt_line(event, fields)


def _attempt_line(event: str, fields: dict[str, Any]) -> str:
    text = f"{fields['definition']} {str(fields['jobId'])[-8:]}"
    if event == "job.put_aside":
        verb, reason = fields["verb"], fields["reason"]
        return f"{text} put aside, {fields['state']}: the database refuses to {verb} it: {reason}"
    text += f" attempt {fields['attempt']}"
    match event:
        case "attempt.started":
            return f"{text} started"
        case "attempt.lost":
            return f"{text} lost: {fields['reason']}"
        case "attempt.handed_back":
            return f"{text} handed back, {fields['state']}: {fields['reason']}"
        case "attempt.reaped":
            return f"{text} of {fields['worker']} taken back, {fields['state']}: {fields['reason']}"
    used = f"{fields['durationSeconds']:.3f} s"
    if "cpuSeconds" in fields:
        used += f", {1000 * fields['cpuSeconds']:.0f} ms of CPU, {fields['peakMemoryBytes'] >> 20} MiB"
    text += f" {fields['state']} ({used})"
    return f"{text}: {fields['reason']}" if fields["reason"] else text


def _clock(entry: LogEntry) -> str:
    return f"{datetime.fromtimestamp(entry.at, UTC):%H:%M:%S}"
