"""Runs `tenure doctor` on a database and reads what it found."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tenure.core.model.lease import Line, Pulse
from tenure.core.reports.operations import WorkerInfo
from tenure.storage.contract.store import Store
from tests.storage.verbs import MAIL
from tests.surfaces.command import tenure

FIELDS = {"kind", "what", "since", "cure", "needsPerson", "job", "definition", "queue"}


def examined(folder: Path, database: str, code: int, *options: str) -> dict[str, Any]:
    """What the command says as JSON, after its exit code was this."""
    ran = tenure(folder, "doctor", "--json", *options, "--database", database)
    assert (ran.returncode, ran.stderr) == (code, ""), ran
    said: dict[str, Any] = json.loads(ran.stdout)
    assert said["isWell"] is (code == 0)
    return said


def found(said: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    """The findings of one kind, each of them whole."""
    findings = [finding for finding in said["findings"] if finding["kind"] == kind]
    assert all(finding.keys() == FIELDS and finding["what"] and finding["cure"] for finding in findings)
    return findings


async def serve(store: Store, *lines: Line, ready: bool = True) -> None:
    """A worker that has just started, has sent a heartbeat, and serves mail and these lines."""
    await store.enlist(WorkerInfo(id="ann", host="here", pid=7, version="1.2", slots=4, lines=(MAIL, *lines)))
    await store.heartbeat(Pulse(worker="ann", leases=[], ready=ready))
