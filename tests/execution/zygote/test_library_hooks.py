"""Children of a zygote do without the standard library's hooks at fork, and nothing is missed.

On this Python, and on each other one that is on the PATH and is supported.
"""

import json
import shutil
import subprocess
import sys
from uuid import uuid4

import pytest

from tenure.core.model.retry import Returned
from tenure.execution.parent.process_lane import ProcessLane
from tenure.execution.zygote import library_hooks
from tests.execution.attempts import run

OTHERS = ("python3.11", "python3.12", "python3.13", "python3.14")
FORKS = 4

PROGRAM = """
import importlib.util, json, os, sys

spec = importlib.util.spec_from_file_location("library_hooks", sys.argv[1])
library_hooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(library_hooks)
hooks = library_hooks.LibraryHooks()
hooks.install()

import concurrent.futures.thread, logging, random, threading
seen = []
os.register_at_fork(before=lambda: seen.append("before"), after_in_child=lambda: seen.append("child"))
random.seed(1)
main, looked = threading.main_thread(), [0]
find = threading._enumerate
threading._enumerate = lambda: looked.append(1) or find()  # what the hook of threading calls

def tell(**more):
    return {"drawn": random.random(), "main": threading.main_thread() is main is threading.current_thread(),
            "ident": main.ident == threading.get_ident(), "alive": threading.active_count(), **more}

def in_child(do):
    readable, writable = os.pipe()
    pid = hooks.fork() if do is child else os.fork()
    if pid == 0:
        try:
            os.write(writable, json.dumps(do()).encode())
        finally:
            os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as told:
        answer = json.load(told)
    os.waitpid(pid, 0)
    return answer

def child():
    run_hooks, ran = len(looked) > 1, seen[-2:]
    told = []
    thread = threading.Thread(target=lambda: told.append(logging.getLogger("x").error("from a thread")))
    thread.start()
    thread.join()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        told.append(pool.submit(int, "7").result())
    stay = threading.Event()
    other = threading.Thread(target=stay.wait)
    other.start()
    inner = in_child(grandchild)
    stay.set()
    other.join()
    return tell(told=told, seen=ran, run_hooks=run_hooks, inner=inner)

def grandchild():
    return tell(run_hooks=len(looked) > 1)

print(json.dumps([in_child(child) for _ in range(int(sys.argv[2]))]))
"""


def pythons() -> list[str]:
    """This one, and others of the PATH that start: a version manager puts some there that do not."""
    found = [path for path in map(shutil.which, OTHERS) if path]
    return [sys.executable, *filter(_starts, found)]


def _starts(path: str) -> bool:
    return subprocess.run([path, "-S", "-c", ""], check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("python", pythons())
def test_children_differ_by_chance_and_have_one_thread_each(python: str) -> None:
    """Each then forks by itself, while another of its threads lives."""
    command = [python, "-S", "-c", PROGRAM, str(library_hooks.__file__), str(FORKS)]
    found = json.loads(
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    )
    drawn = [one["drawn"] for each in found for one in (each, each["inner"])]
    assert len(set(drawn)) == 2 * FORKS
    for each in found:
        assert (each["main"], each["ident"], each["alive"]) == (True, True, 1)
        assert each["told"] == [None, 7]
        assert each["seen"] == ["before", "child"], "hooks of others run at every fork"
        assert (each["inner"]["main"], each["inner"]["alive"]) == (True, 1)
        assert each["inner"]["run_hooks"], "a fork of the handler's own has all hooks"
    asked = subprocess.check_output([python, "-c", "import sys; print(sys.version_info[:2])"], text=True)
    is_known = asked.strip() in {"(3, 11)", "(3, 12)", "(3, 13)"}
    assert [each["run_hooks"] for each in found] == [not is_known] * FORKS


@pytest.mark.asyncio(loop_scope="module")
async def test_attempts_that_follow_each_other_draw_other_numbers(lane: ProcessLane) -> None:
    """As many as there are spares, and more."""
    ends = [(await run(lane, "draws", job=uuid4())).end for _ in range(FORKS)]
    drawn = [end.result for end in ends if isinstance(end, Returned)]
    assert len(set(drawn)) == FORKS
