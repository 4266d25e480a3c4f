"""`tenure workers`: who is there, and asking one to end."""

import json
from pathlib import Path

from tenure.core.model.lease import Line, Pulse
from tenure.core.reports.operations import WorkerInfo
from tenure.storage.contract.store import Store
from tests.surfaces.command import fails, tenure
from tests.surfaces.store_behind import on


async def _two(store: Store) -> None:
    for name in ("ann", "bob"):
        lines = (Line("default", "mail"),)
        await store.enlist(WorkerInfo(id=name, host="here", pid=7, version="1.2", slots=4, lines=lines))
        await store.heartbeat(Pulse(worker=name, leases=[], ready=name == "ann"))


def test_workers_are_listed_with_what_they_say_of_themselves(tmp_path: Path, migrated: str) -> None:
    on(migrated, _two)
    ran = tenure(tmp_path, "workers", "list", "--database", migrated)
    titles, *lines = [line.split() for line in ran.stdout.splitlines()]
    assert (ran.returncode, ran.stderr) == (0, "")
    assert titles == ["worker", "status", "running", "seen", "version"]
    assert [line[:3] for line in lines] == [["ann", "ready", "0/4"], ["bob", "unready", "0/4"]]


def test_as_json_a_worker_says_what_it_serves(tmp_path: Path, migrated: str) -> None:
    on(migrated, _two)
    ran = tenure(tmp_path, "workers", "list", "--json", "--database", migrated)
    ann, bob = json.loads(ran.stdout)["items"]
    assert (ann["workerId"], ann["status"], ann["slots"], ann["pid"]) == ("ann", "ready", 4, 7)
    assert ann["lines"] == [{"queue": "default", "definition": "mail", "version": 1}]
    assert bob["status"] == "unready"


def test_a_worker_is_asked_to_end(tmp_path: Path, migrated: str) -> None:
    on(migrated, _two)
    ran = tenure(tmp_path, "workers", "drain", "bob", "--database", migrated)
    assert (ran.returncode, ran.stdout) == (0, "bob will claim no more\n")
    listed = tenure(tmp_path, "workers", "list", "--database", migrated).stdout
    assert [line.split()[1] for line in listed.splitlines()[1:]] == ["ready", "draining"]
    assert fails(tenure(tmp_path, "workers", "drain", "eve", "--database", migrated), 1, "no worker eve")


def test_where_there_are_none_nothing_is_printed(tmp_path: Path, migrated: str) -> None:
    on(migrated, _nobody)
    ran = tenure(tmp_path, "workers", "list", "--database", migrated)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


async def _nobody(_store: Store) -> None:
    """A database without workers."""
