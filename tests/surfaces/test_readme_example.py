"""The README's own job, taken from the page and run as the page says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.surfaces.command import COMMAND, environment, tenure

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_job_of_the_readme_runs_as_it_stands(tmp_path: Path) -> None:
    """S1.1: a definition like any other, executed by a worker that serves it."""
    jobs, caller = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    (tmp_path / "jobs.py").write_text(jobs)
    work, enqueue, look = (
        shlex.split(line) for line in re.findall(r"^\$ tenure (.*?)  +#", README, re.MULTILINE)
    )
    worker = subprocess.Popen([*COMMAND, *work], cwd=tmp_path, env=environment())
    try:
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
        ended = worker.wait(timeout=60)
    assert (called.stdout, called.stderr) == ("{'sent': 'ada@example.com', 'attempt': 1}\n", "")
    assert enqueued.returncode == 0
    assert enqueued.stdout.strip() in listed.stdout
    assert listed.stdout.count("email.welcome@1") == 2
    assert ended == 0
