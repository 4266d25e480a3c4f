"""The README's own job, taken from the page and run as the page says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import httpx

from tests.surfaces.command import COMMAND, environment, tenure

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
OTHER_DOORS = (ROOT / "docs/reference/jobs-and-tasks.md").read_text()


def test_the_job_of_the_readme_runs_as_it_stands(tmp_path: Path) -> None:
    """S1.1: a definition like any other, executed by a worker that serves it."""
    jobs, caller = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    (tmp_path / "jobs.py").write_text(jobs)
    work, enqueue, look = (
        shlex.split(line) for line in re.findall(r"^\$ tenure (.*?)  +#", README, re.MULTILINE)
    )
    worker = subprocess.Popen(
        [*COMMAND, *work], cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, encoding="utf-8"
    )
    try:
        assert worker.stderr is not None
        while "worker.ready" not in worker.stderr.readline():
            assert worker.poll() is None
        called = subprocess.run(
            [sys.executable, "-c", caller],
            cwd=tmp_path,
            env=environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        enqueued = tenure(tmp_path, *enqueue)
        listed = tenure(tmp_path, *look)
    finally:
        worker.terminate()
        worker.communicate(timeout=60)
    assert (called.stdout, called.stderr) == ("{'sent': 'ada@example.com', 'attempt': 1}\n", "")
    assert enqueued.returncode == 0
    assert enqueued.stdout.strip() in listed.stdout
    assert listed.stdout.count("email.welcome@1") == 2
    assert worker.returncode == 0


def test_the_calls_of_the_readme_are_answered_by_the_command_above_them(tmp_path: Path) -> None:
    """S1.5: start, status and cancel, as the page has them."""
    [block] = re.findall(r"^```console\n(\$ tenure serve .*?)^```$", README, re.MULTILINE | re.DOTALL)
    jobs, _ = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    (tmp_path / "jobs.py").write_text(jobs)
    lines = re.findall(r"^\$ (.*)$", block.replace("\\\n", ""), re.MULTILINE)
    serve, *calls = (shlex.split(line) for line in lines)
    calls = [call for call in calls if call[0] == "curl"]
    serving = subprocess.Popen(
        [*COMMAND, *serve[1:], "--port", "0"],
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert serving.stderr is not None
        while not (found := re.match(r"(http://\S+) on ", serving.stderr.readline())):
            assert serving.poll() is None
        made = _curl(found[1], calls[0], "")
        answers = [made, *(_curl(found[1], call, made.json()["jobId"]) for call in calls[1:])]
        others = [_follow(found[1], block) for block in _consoles(OTHER_DOORS)]
    finally:
        serving.terminate()
        serving.communicate(timeout=60)
    assert [answer.status_code for answer in answers] == [202, 200, 200, 409]
    assert answers[2].json()["result"] == {"sent": "ada@example.com", "attempt": 1}
    (sent, _), (delayed, read, aborted), (repeated,) = others
    assert sent.keys() == {"jobId", "status"}
    assert [answer["state"] for answer in (delayed, read, aborted)] == ["Delayed", "Delayed", "Aborted"]
    assert repeated["state"] == "Delayed"


def _consoles(page: str) -> list[list[list[str]]]:
    """The commands of each block of a page, in words."""
    blocks = re.findall(r"^```console\n(.*?)^```$", page.replace("\\\n", ""), re.MULTILINE | re.DOTALL)
    return [[shlex.split(line) for line in re.findall(r"^\$ (.*)$", block, re.MULTILINE)] for block in blocks]


def _follow(url: str, calls: list[list[str]]) -> list[dict[str, str]]:
    """The answers to calls, the first of which makes the job that the others name."""
    made = _curl(url, calls[0], "").json()
    job = made.get("jobId") or made["taskId"]
    rest = [_curl(url, call, job) for call in calls[1:]]
    assert all(answer.is_success for answer in rest)
    return [made, *(answer.json() for answer in rest)]


def _curl(url: str, words: list[str], job: str) -> httpx.Response:
    """What curl would do with these words."""
    address, *options = words[1:] if words[1] != "-X" else [*words[3:], *words[1:3]]
    given = dict(zip(options[::2], options[1::2], strict=True))
    address = address.replace("localhost:8000", url).replace("$JOB", job)
    headers = dict([given["-H"].split(": ")]) if "-H" in given else {}
    method = given.get("-X", "POST" if "-d" in given else "GET")
    return httpx.request(
        method, address, headers=headers, content=given.get("-d"), timeout=60, trust_env=False
    )
