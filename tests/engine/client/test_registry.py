"""What a process knows of definitions: registered once, checked, and sent as data."""

from typing import Any

import msgspec
import pytest

from tenure.core.errors import Fatal, InvalidInput, InvalidParams, UnknownDefinition
from tenure.core.model.spec import Spec
from tenure.core.values.documents import Document, write
from tenure.engine.client.registry import Code, Manifest, Registry
from tenure.surfaces.library.type_readers import Shape, reader_of


class Mail(msgspec.Struct):
    to: str
    at: msgspec.Raw | None = None


def code(origin: str = "jobs.mail", kind: Any = Mail) -> Code:
    return Code(lambda params, ctx: (params, ctx), reader_of(Shape.of(kind)), origin)


def test_one_key_and_version_belongs_to_one_function() -> None:
    """S1.54: a registry by key and version."""
    registry = Registry()
    registry.add(Spec(key="mail"), code("jobs.mail"))
    registry.add(Spec(key="mail", version=2), code("jobs.mail"))
    with pytest.raises(InvalidInput, match=r"mail@1 is registered twice, by jobs\.mail and by other\.mail"):
        registry.add(Spec(key="mail"), code("other.mail"))


def test_the_newest_version_is_found_when_none_is_named() -> None:
    registry = Registry()
    for version in (2, 10, 9):
        registry.add(Spec(key="mail", version=version))
    newest = registry.find("mail")
    assert newest is not None
    assert newest.version == 10
    assert registry.find("mail", 3) is None
    assert registry.find("post") is None


def test_reserved_keys_are_refused() -> None:
    with pytest.raises(InvalidInput, match="reserved"):
        Registry().add(Spec(key="system.cancel"))


def test_a_schema_that_cannot_be_used_is_refused_when_it_is_registered() -> None:
    with pytest.raises(InvalidInput, match="JSON Schema"):
        Registry().add(Spec(key="mail", params_schema=Document('{"type":"strin"}')))


def test_a_handler_is_found_with_its_hooks() -> None:
    """S1.26: hooks belong to the definition."""
    registry, hook = Registry(), print
    registry.add(Spec(key="mail"), code())
    registry.add_hook(("mail", 1), "on_end", hook)
    registry.add_hook(("mail", 1), "on_start", hook)
    handler = registry.handler("mail", 1)
    assert handler.hooks == {"on_start": hook, "on_end": hook}
    assert handler.run(1, 2) == (1, 2)
    assert handler.decode('{"to":"a"}') == Mail("a")
    assert registry.get("mail", 1).hooks == ("on_start", "on_end")


def test_a_second_hook_of_a_kind_is_refused() -> None:
    registry = Registry()
    registry.add(Spec(key="mail"), code())
    registry.add_hook(("mail", 1), "on_end", print)
    with pytest.raises(InvalidInput, match="on_end: is set twice for mail@1"):
        registry.add_hook(("mail", 1), "on_end", print)


def test_a_handler_that_is_not_here_is_not_found() -> None:
    registry = Registry()
    registry.add(Spec(key="mail"))
    for name in (("mail", 1), ("mail", 2), ("post", 1)):
        with pytest.raises(UnknownDefinition, match="import the module"):
            registry.handler(*name)


def test_params_that_cannot_be_read_are_fatal_to_an_attempt() -> None:
    """They were stored before the type changed; no other attempt would read them."""
    registry = Registry()
    registry.add(Spec(key="mail"), code())
    with pytest.raises(Fatal, match="mail@1"):
        registry.handler("mail", 1).decode('{"to":1}')


def test_a_type_may_ask_for_more_than_its_schema() -> None:
    registry = Registry()
    spec = Spec(key="mail")
    registry.add(spec, code(kind=dict[str, list[int]]))
    registry.check_params(spec, write({"a": [1]}))
    with pytest.raises(InvalidParams) as caught:
        registry.check_params(spec, write({"a": [1, "x"]}))
    [problem] = caught.value.problems
    assert problem.pointer == "/.../1"
    assert "int" in problem.text


def test_an_error_names_the_definition_and_every_problem() -> None:
    registry = Registry()
    spec = Spec(key="mail", params_schema=write({"required": ["a", "b"]}))
    registry.add(spec)
    with pytest.raises(InvalidParams) as caught:
        registry.check_params(spec, write({}))
    error = caught.value
    assert str(error) == "mail@1: params/a: is missing; params/b: is missing"
    assert (error.code, error.pointer, error.field) == ("invalid-params", "/a", "params/a")


def test_a_manifest_brings_the_definitions_to_another_process() -> None:
    registry = Registry()
    registry.add(Spec(key="mail", version=2, params_schema=write({"required": ["to"]})), code())
    registry.add_hook(("mail", 2), "on_fail", print)
    registry.add(Spec(key="archive"))
    sent = Manifest.read(registry.manifest("sqlite:///x.db").write())
    assert sent.database == "sqlite:///x.db"
    other = sent.registry()
    assert other.specs() == registry.specs()
    with pytest.raises(InvalidParams):
        other.check_params(other.get("mail", 2), write({}))
