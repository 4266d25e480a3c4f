"""`tenure demo` on a terminal: a table that is drawn over itself, in colour where that is wanted."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
from pathlib import Path

import httpx

from tests.surfaces.command import COMMAND, environment

UP = re.compile(r"\x1b\[(\d+)A")
COLOUR = re.compile(r"\x1b\[[\d;]*m")
ANY = re.compile(r"\x1b\[[\d;]*[A-Za-z]")
JOBS = ["greet", "fetch", "resize", "encode", "backup", "charge"]


def test_the_table_is_drawn_over_itself(tmp_path: Path) -> None:
    written = _on_a_terminal(tmp_path, columns=60)
    first, *later = UP.split(written)
    frames = [first, *later[1::2]]
    assert set(later[0::2]) == {"7"}  # the titles and six jobs: each frame begins where the first did
    assert len(frames) > 5
    for frame in frames:
        lines = _lines(frame)[:7]
        assert [line.split()[0] for line in lines] == ["job", *JOBS]
        assert max(len(line) for line in lines) < 60
    # The last frame stays, and the summary stands below it.
    assert [line.split()[1] for line in _lines(frames[-1])[1:7]] == [
        *("succeeded", "succeeded", "succeeded", "succeeded", "cancelled", "failed")
    ]
    assert "as they should" in frames[-1]


def test_states_have_colours_and_progress_a_bar(tmp_path: Path) -> None:
    written = _on_a_terminal(tmp_path)
    assert "\x1b[32msucceeded\x1b[0m" in written
    assert "\x1b[31mfailed\x1b[0m" in written
    bars = re.findall(r"(█+)░*  ?(\d+)%  frame", written)
    assert len(bars) >= 5
    assert all(round(int(percent) / 5) == len(bar) for bar, percent in bars)


def test_who_wants_no_colour_gets_the_table_without(tmp_path: Path) -> None:
    written = _on_a_terminal(tmp_path, NO_COLOR="1")
    assert UP.search(written)
    assert not COLOUR.search(written)


def test_a_terminal_that_cannot_hold_the_table_gets_lines(tmp_path: Path) -> None:
    written = _on_a_terminal(tmp_path, rows=6)
    assert not UP.search(written)
    assert re.search(r"\+\d+\.\d\d s  encode +succeeded", ANY.sub("", written))


def test_a_dumb_terminal_gets_plain_lines(tmp_path: Path) -> None:
    written = _on_a_terminal(tmp_path, TERM="dumb", NO_COLOR="1")
    assert not ANY.search(written)
    assert re.search(r"\+\d+\.\d\d s  encode +succeeded", written)


def test_the_dashboard_stays_until_ctrl_c_and_its_worker_with_it(tmp_path: Path) -> None:
    """The address is told before the jobs begin; when all is over, nothing is left behind."""
    ours, theirs = pty.openpty()
    terminal = environment(TERM="dumb", NO_COLOR="1", TMPDIR=str(tmp_path))
    running = subprocess.Popen(
        [*COMMAND, "demo"], env=terminal, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    try:
        with os.fdopen(os.dup(ours), encoding="utf-8", newline="") as screen:
            found = re.fullmatch(r"the dashboard is at (http://127\.0\.0\.1:\d+)\r\n", screen.readline())
            assert found
            lines = iter(screen.readline, "")
            assert any(line.startswith(f"look around at {found[1]}") for line in lines)
            with httpx.Client(base_url=found[1], trust_env=False) as client:
                [job] = client.get("/v1/jobs?status=failed").json()["items"]
                replay = client.post(f"/v1/jobs/{job['jobId']}/replay").json()["jobId"]
                told = client.get(f"/v1/jobs/{replay}/result?waitSeconds=30")
                assert (told.status_code, told.json()["jobStatus"]) == (409, "failed")
                assert "text/html" in client.get("/", headers={"accept": "text/html"}).headers["content-type"]
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 0
        assert not list(tmp_path.iterdir())
    finally:
        running.kill()
        os.close(ours)


def _lines(frame: str) -> list[str]:
    return [ANY.sub("", line) for line in frame.split("\r\n")]


def _on_a_terminal(folder: Path, *, rows: int = 24, columns: int = 80, **changed: str) -> str:
    """What the command writes to a terminal of this size that it believes in."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    terminal = environment(**{"TERM": "xterm-256color", **changed})
    for name in ("COLUMNS", "LINES"):
        terminal.pop(name, None)
    running = subprocess.Popen(
        [*COMMAND, "demo", "--once"], cwd=folder, env=terminal, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 65_536):
            written += chunk
    except OSError:
        pass  # Linux's way to say that the other side of a terminal is closed.
    finally:
        os.close(ours)
    assert running.wait(timeout=60) == 0
    return written.decode()
