"""Tests wait by `tests/until.py`: it has the only loop that asks, sleeps and asks again."""

import ast
from collections.abc import Iterator
from pathlib import Path

TESTS = Path(__file__).parent.parent

# Programs under test may sleep. These loops of tests do something each time, or keep a pace that is tested.
PACED = {
    "examples/agent/test_killed.py": 1,  # kills at random times
    "examples/image_service/test_killed.py": 1,  # kills at random times
    "model/trail_requests.py": 1,  # reads to the end, piece by piece
    "relay/messages/test_post_to_start.py": 1,  # calls at a pace of their own
    "relay/receiver.py": 1,  # an answer that comes drop by drop
    "storage/contract/test_listen.py": 1,  # gives up one wait after the other
    "storage/faults/disks.py": 1,  # fills a disk
    "surfaces/http/calls/test_streams_killed.py": 2,  # a load, and a browser that connects again
    "surfaces/http/server/test_framing.py": 1,  # a request that comes drop by drop
    "surfaces/remote/restartable_server.py": 1,  # an answer that comes drop by drop
    "surfaces/test_foreign.py": 2,  # leases that run out, and kills at random times
    "worker/test_killing.py": 1,  # a flood of signals
}


def polling_loops(tree: ast.AST) -> Iterator[ast.AST]:
    """Innermost loops that sleep for a while, and those that do nothing but ask."""
    for loop in ast.walk(tree):
        if isinstance(loop, ast.While) and all(isinstance(line, ast.Pass) for line in loop.body):
            if "wakeups.wait(" not in ast.unparse(loop.test):
                yield loop
        elif isinstance(loop, ast.While | ast.For) and any(map(_sleeps, _inside(loop))):
            yield loop


def _inside(loop: ast.While | ast.For) -> Iterator[ast.AST]:
    """What a loop runs itself: neither loops in it nor functions that it makes."""
    waiting: list[ast.AST] = list(loop.body)
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.While | ast.For | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _sleeps(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not ast.unparse(node.func).endswith((".sleep", "Event().wait")):
        return False
    return ast.unparse(node.args[0]) != "0"  # a turn of the event loop is no wait


def test_one_loop_polls() -> None:
    found = {}
    for path in sorted(TESTS.rglob("*.py")):
        name = str(path.relative_to(TESTS))
        if not name.endswith("_app.py") and name != "until.py":
            found[name] = len(list(polling_loops(ast.parse(path.read_text()))))
    assert {name: number for name, number in found.items() if number} == PACED


def test_a_loop_that_polls_is_found() -> None:
    looping = "while not done():\n    {}\n"
    for line in ("pass", "time.sleep(0.1)", "if x:\n        await asyncio.sleep(pause)"):
        assert len(list(polling_loops(ast.parse(looping.format(line))))) == 1
    for line in ("await asyncio.sleep(0)", "until_sync(done)"):
        assert not list(polling_loops(ast.parse(looping.format(line))))
