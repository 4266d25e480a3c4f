"""The pytest plugin, in projects of its own users: a folder, an app, a run of pytest."""

import re
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()

README_TEST = """
from jobs import Welcome, welcome

def test_a_mail_that_fails_is_sent_again(tenure):
    tenure.fail_next(welcome, ConnectionError("no mail today"))
    job = welcome.enqueue_sync(Welcome(to="ada@example.com"))
    tenure.drain()
    tenure.assert_enqueued(welcome, Welcome("ada@example.com"), times=1)
    tenure.advance("1m")
    assert job.result_sync() == {"sent": "ada@example.com", "attempt": 2}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the job of the README and nothing else."""
    jobs = re.findall(r"^```python\n(# jobs.py.*?)^```$", README, re.MULTILINE | re.DOTALL)[0]
    (tmp_path / "jobs.py").write_text(jobs)
    return tmp_path


def run(project: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run pytest there, with the plugins that are installed."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:schemathesis", *arguments]
    return subprocess.run(command, cwd=project, capture_output=True, text=True, timeout=120, check=False)


def test_the_plugin_is_installed_as_an_entry_point() -> None:
    [point] = [point for point in entry_points(group="pytest11") if point.value == "tenure_pytest"]
    assert point.name == "tenure"


def test_the_job_of_the_readme_is_tested_in_ten_lines(project: Path) -> None:
    assert len(README_TEST.strip().splitlines()) <= 10
    (project / "pytest.ini").write_text("[pytest]\ntenure_app = jobs:app\n")
    (project / "test_jobs.py").write_text(README_TEST)
    ran = run(project)
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout
    assert not (project / "tenure.db").exists()


def test_an_async_test_gets_the_async_harness(project: Path) -> None:
    """Whatever runs async tests: here pytest-asyncio."""
    (project / "pytest.ini").write_text("[pytest]\ntenure_app = jobs:app\nasyncio_mode = auto\n")
    (project / "test_jobs.py").write_text(
        "from jobs import Welcome, welcome\n"
        "class TestMails:\n"
        "    async def test_it(self, tenure):\n"
        "        job = await welcome.enqueue(Welcome('ada'), delay=3600)\n"
        "        assert await tenure.advance('1h') == 1\n"
        "        assert (await job.result())['sent'] == 'ada'\n"
        "    def test_plain(self, tenure):\n"
        "        assert tenure.drain() == 0\n"
    )
    ran = run(project)
    assert "2 passed" in ran.stdout, ran.stdout


def test_a_fixture_may_name_the_app_instead(project: Path) -> None:
    (project / "conftest.py").write_text(
        "import pytest\nfrom jobs import app\n@pytest.fixture\ndef tenure_app():\n    return app\n"
    )
    (project / "test_jobs.py").write_text(README_TEST)
    assert "1 passed" in run(project).stdout


@pytest.mark.parametrize(
    ("ini", "said"),
    [
        ("", "write `tenure_app = module:attribute` into pytest's configuration, or a fixture `tenure_app`"),
        ("tenure_app = jbos:app", "nor among the installed ones; if the module"),
        ("tenure_app = jobs:ap", "jobs has no ap; write jobs:app"),
        ("tenure_app = jobs:welcome", "jobs:welcome is no app but of type JobFunction"),
        ("tenure_app = jobs", "does not name an app; write it as module:attribute"),
    ],
)
def test_a_mistake_is_named_without_a_traceback(project: Path, ini: str, said: str) -> None:
    (project / "pytest.ini").write_text(f"[pytest]\n{ini}\n")
    (project / "test_jobs.py").write_text("def test_it(tenure): ...\n")
    ran = run(project)
    assert ran.returncode == 1
    assert said in ran.stdout.replace("\n", " ")
    assert "Traceback" not in ran.stdout
    assert "tenure_pytest.py" not in ran.stdout


def test_a_run_that_does_not_use_it_does_not_load_tenure(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\ndef test_it():\n"
        "    assert 'tenure_pytest' in sys.modules\n"
        "    assert not [name for name in sys.modules if name.split('.')[0] in {'tenure', 'msgspec'}]\n"
    )
    assert "1 passed" in run(tmp_path).stdout


def test_a_failing_test_shows_the_jobs_as_they_are(project: Path) -> None:
    (project / "pytest.ini").write_text("[pytest]\ntenure_app = jobs:app\n")
    (project / "test_jobs.py").write_text(
        "def test_it(tenure):\n    tenure.enqueue('email.welcome', {'to': 'ada'})\n"
        "    assert tenure.jobs(state='succeeded')\n"
    )
    ran = run(project)
    assert ran.returncode == 1
    assert "assert []" in ran.stdout


@pytest.mark.long
def test_a_hundred_tests_are_a_matter_of_seconds(project: Path) -> None:
    """Shown, not asserted: `make long -s` prints how long they took."""
    (project / "pytest.ini").write_text("[pytest]\ntenure_app = jobs:app\n")
    (project / "test_jobs.py").write_text(
        README_TEST.replace(
            "def test", "import pytest\n@pytest.mark.parametrize('n', range(100))\ndef test", 1
        ).replace("(tenure)", "(tenure, n)")
    )
    ran = run(project)
    assert "100 passed" in ran.stdout, ran.stdout
    print(ran.stdout.splitlines()[-1])
