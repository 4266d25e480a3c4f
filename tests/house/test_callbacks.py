"""A callback is named `on_…`, after what has happened when it is called."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/tenure"
SILENT = {"None", "Awaitable[None]", "Coroutine[Any, Any, None]"}
"""What a callable answers with that only takes note."""

INSTRUCTIONS = {
    "call": "what is to be called soon",
    "call_handlers": "the method of `logging` that it stands in front of",
    "callback": "given to a method that is itself named `on_…`",
    "emit": "a method of the listener behind it, as are `measure` and `span`",
    "gone": "waited for: it ends when the client is gone",
    "measure": "see `emit`",
    "pass_on": "what becomes of the rest of the output",
    "post": "hands an attempt to the stage",
    "put": "writes a line of the log",
    "put_line": "see `put`",
    "send": "sends a batch or a message",
    "show": "prints a line",
    "span": "see `emit`",
    "stop": "ends the command",
}
"""Names of callables that answer nothing, and yet are no callbacks: what their holder is to do with them."""


def test_a_callback_is_named_after_what_has_happened() -> None:
    named = [(name, where) for name, where in _silent_callables() if not name.startswith("on_")]
    assert [f"{where} {name}" for name, where in named if name not in INSTRUCTIONS] == []
    assert INSTRUCTIONS.keys() <= {name for name, _ in named}


def _silent_callables() -> Iterator[tuple[str, str]]:
    """Parameters and fields that hold a callable which answers nothing, and where."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.arg(arg=name, annotation=ast.expr() as annotation):
                    pass
                case ast.AnnAssign(
                    target=ast.Name(id=name) | ast.Attribute(attr=name), annotation=annotation
                ):
                    pass
                case _:
                    continue
            if _is_silent(annotation):
                yield name.lstrip("_"), f"{path.relative_to(ROOT)}:{node.lineno}"


def _is_silent(annotation: ast.expr) -> bool:
    match annotation:
        case ast.BinOp(left=left, right=right):
            return _is_silent(left) or _is_silent(right)
        case ast.Subscript(value=ast.Name(id="Callable"), slice=ast.Tuple(elts=[_, answer])):
            return ast.unparse(answer) in SILENT
        case _:
            return False
