"""Reads classes and functions as their source has them: signatures, docstrings, fields."""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast, get_overloads

WIDTH = 110
"""The longest signature that stands on one line."""

_RECEIVERS = {"self", "cls", "wire"}
_OMITTED = {"options", "terms"}
"""Keyword arguments whose type is a table of its own on the page."""


class Field(NamedTuple):
    """An attribute or an option: what is written beside its name, and its docstring."""

    name: str
    kind: str
    text: str

    @property
    def meaning(self) -> str:
        """The docstring up to its default."""
        return self.text.partition("Default: ")[0].strip()

    @property
    def default(self) -> str:
        """What the docstring names as the default; empty if it names none."""
        return self.text.partition("Default: ")[2].strip().removesuffix(".")


class Method(NamedTuple):
    """A method or function: its signatures, of which several are overloads, and its docstring."""

    name: str
    signatures: list[str]
    text: str


def fields(kind: type) -> list[Field]:
    """The attributes that a class declares, each with the docstring below it."""
    node = cast("ast.ClassDef", _parsed(kind))
    found = []
    for here, after in zip(node.body, [*node.body[1:], None], strict=True):
        if isinstance(here, ast.AnnAssign) and isinstance(here.target, ast.Name):
            text = _text(after)
            found.append(Field(here.target.id, _annotation(here.annotation), text))
    return [field for field in found if not field.name.startswith("_")]


def methods(kind: type, subject: str) -> Iterator[Method]:
    """The public methods and properties of a class, in their order, each called on `subject`.

    A twin `…_sync` is left out: it differs from its method in nothing but its name.
    """
    declared = vars(kind)
    for name, value in declared.items():
        is_twin = name.endswith("_sync") and name.removesuffix("_sync") in declared
        if is_twin or (name.startswith("_") and name not in {"__call__", "__bool__"}):
            continue
        if isinstance(value, property):
            getter = cast("Callable[..., Any]", value.fget)
            returned = _function(getter).returns
            yield Method(name, [f"{subject}.{name}: {_annotation(returned)}"], _doc(getter))
        elif isinstance(value, staticmethod | classmethod):
            yield method(value.__func__, f"{subject}.{name}")
        elif inspect.isfunction(value):
            yield method(value, _called(subject, name))


def twins(kind: type) -> list[str]:
    """The methods of a class that have a blocking twin."""
    names = [name.removesuffix("_sync") for name in vars(kind) if name.endswith("_sync")]
    return [name for name in names if name in vars(kind)]


def method(value: Callable[..., Any], called: str) -> Method:
    """A function as it is called; an asynchronous one is awaited."""
    function = inspect.unwrap(value)
    kinds = get_overloads(function) or [function]
    prefix = "await " if inspect.iscoroutinefunction(value) else ""
    constants = getattr(function, "__globals__", {})
    signatures = [
        re.sub(
            r"(?<== )[A-Z_]{2,}\b",
            lambda found: repr(constants[found[0]]),
            prefix + _signature(_function(kind), called),
        )
        for kind in kinds
    ]
    return Method(value.__name__, signatures, _doc(value))


def constructor(kind: type) -> Method:
    """How an instance of a class is made."""
    made = method(kind.__init__, kind.__name__)  # type: ignore[misc]
    return made._replace(signatures=[one.removesuffix(" -> None") for one in made.signatures])


def paragraphs(text: str) -> str:
    """A docstring as Markdown: its lines are joined, its paragraphs stay."""
    parts = inspect.cleandoc(text).split("\n\n")
    return "\n\n".join(" ".join(part.split()) for part in parts)


def _called(subject: str, name: str) -> str:
    return {"__call__": subject, "__bool__": f"bool({subject})"}.get(name, f"{subject}.{name}")


def _doc(value: Callable[..., Any]) -> str:
    return paragraphs(value.__doc__ or "")


def _function(value: Callable[..., Any]) -> ast.FunctionDef | ast.AsyncFunctionDef:
    return cast("ast.FunctionDef | ast.AsyncFunctionDef", _parsed(value))


def _parsed(value: Any) -> ast.stmt:
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef, called: str) -> str:
    returned = "" if node.returns is None else f" -> {_annotation(node.returns)}"
    # What a verb of the clients generates, a client iterates over.
    returned = re.sub(r"AsyncGenerator\[(\w+), None\]", r"Iterator[\1]", returned)
    if called.endswith(")"):
        return called + returned
    parts = list(_parameters(node.args))
    line = f"{called}({', '.join(parts)}){returned}"
    if len(line) <= WIDTH:
        return line
    inside = textwrap.wrap(", ".join(parts), WIDTH - 4, break_long_words=False)
    return f"{called}(\n    " + "\n    ".join(inside) + f"\n){returned}"


def _parameters(given: ast.arguments) -> Iterator[str]:
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [*[None] * (len(plain) - len(given.defaults)), *given.defaults]
    for place, (argument, default) in enumerate(zip(plain, defaults, strict=True)):
        if place or argument.arg not in _RECEIVERS:
            yield _parameter(argument, default)
        if given.posonlyargs and argument is given.posonlyargs[-1] and (place or len(plain) > 1):
            yield "/"
    if given.vararg:
        yield f"*{_parameter(given.vararg, None)}"
    elif given.kwonlyargs:
        yield "*"
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _parameter(argument, default)
    if given.kwarg:
        name = given.kwarg.arg
        yield f"**{name}" if name in _OMITTED else f"**{_parameter(given.kwarg, None)}"


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    typed = (
        argument.arg if argument.annotation is None else f"{argument.arg}: {_annotation(argument.annotation)}"
    )
    if default is None:
        return typed
    return f"{typed}{' = ' if argument.annotation else '='}{_value(default)}"


def _value(node: ast.expr) -> str:
    written = ast.unparse(node)
    return written if '"' in written else written.replace("'", '"')


def _annotation(node: ast.expr | None) -> str:
    """A type by its short name: without modules and without quotes."""
    if node is None:
        return ""
    return ast.unparse(_Short().visit(node))


class _Short(ast.NodeTransformer):
    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Name(re.sub(r"^(\w)_(co|contra)$", r"\1", node.id))  # a type variable

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        is_of_params = isinstance(node.value, ast.Name) and node.attr in {"args", "kwargs"}
        return node if is_of_params else ast.Name(node.attr)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "Literal":
            return node
        self.generic_visit(node)
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if not isinstance(node.value, str):
            return node
        quoted = ast.parse(node.value, mode="eval").body
        shortened: ast.expr = self.visit(quoted)
        return shortened


def _text(node: ast.stmt | None) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return paragraphs(str(node.value.value))
    return ""
