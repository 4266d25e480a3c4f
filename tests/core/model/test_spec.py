"""Definitions as data: what is stored of them, and the jobs they make."""

from datetime import timedelta
from typing import Any

import pytest

from tenure.core.errors import InvalidInput, InvalidParams
from tenure.core.model.limit import Limit, key_in
from tenure.core.model.policy import OnLost, Policy, RetryPolicy
from tenure.core.model.spec import Spec, refuse_reserved, scope_of
from tenure.core.values.documents import Document

FULL = Spec(
    key="video.encode",
    version=3,
    queue="video",
    priority=7,
    policy=Policy(
        max_attempts=5,
        timeout=timedelta(seconds=90.5),
        grace=timedelta(seconds=3),
        retry=RetryPolicy(
            base=timedelta(seconds=2),
            cap=timedelta(seconds=60),
            retry_on=("OSError",),
            fatal_on=("KeyError",),
        ),
    ),
    concurrency=4,
    concurrency_key="customer",
    limits=(Limit("gpu", size=2),),
    tags=("slow",),
    params_schema=Document('{"type":"object","required":["customer"]}'),
    hooks=("on_start", "on_fail"),
    environment=("AWS_REGION",),
    memory=2**29,
    cpu=60,
    files=256,
)


def test_a_definition_is_read_back_as_it_was_written() -> None:
    """S1.24: key, version, timeout, attempts and the limit on jobs at once are what a definition says."""
    assert Spec.read(FULL.document()) == FULL
    assert Spec.read(Spec(key="plain").document()) == Spec(key="plain")


def test_what_a_later_version_has_added_is_ignored() -> None:
    assert Spec.read(Document('{"key":"mail","colour":"blue"}')) == Spec(key="mail")


@pytest.mark.parametrize("text", ["{}", "[]", '{"key":"mail","version":"1"}', '{"key":"../mail"}'])
def test_what_is_no_definition_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        Spec.read(Document(text))


def test_a_job_is_made_as_its_definition_says() -> None:
    job = FULL.new_job(Document('{"customer":"acme"}'))
    assert (job.definition, job.version, job.queue, job.priority) == ("video.encode", 3, "video", 7)
    assert job.policy == FULL.policy
    assert job.tags == ("slow",)
    assert (job.scope, job.key) == ("", None)


def test_a_job_may_ask_for_something_else() -> None:
    job = FULL.new_job(
        Document("{}"), queue="fast", priority=-1, max_attempts=9, timeout=timedelta(seconds=1), tags=["new"]
    )
    assert (job.queue, job.priority, job.tags) == ("fast", -1, ("slow", "new"))
    assert (job.policy.max_attempts, job.policy.timeout) == (9, timedelta(seconds=1))
    assert job.policy.retry == FULL.policy.retry


@pytest.mark.parametrize("limited", [{}, {"concurrency": 2}, {"concurrency": 2, "concurrency_key": "n"}])
def test_many_jobs_are_made_like_one(limited: dict[str, Any]) -> None:
    spec = Spec(key="mail", tags=("red",), **limited)
    params = [Document(f'{{"n":{n}}}') for n in range(3)]
    options: dict[str, Any] = {
        "priority": 3,
        "tags": ["blue"],
        "max_attempts": 9,
        "delay": timedelta(seconds=1),
    }
    assert spec.new_jobs(params, **options) == [spec.new_job(one, **options) for one in params]
    with pytest.raises(InvalidInput, match="priority"):
        spec.new_jobs(params, priority=40_000)


def test_what_must_not_run_twice_is_not_given_more_attempts() -> None:
    spec = Spec(key="pay", policy=Policy(on_lost=OnLost.BURY))
    assert spec.new_job(Document("{}"), max_attempts=5).policy.max_attempts == 1


def test_the_own_limit_is_counted_for_each_value_of_its_key() -> None:
    """S1.82: a hot definition has a limit of its own."""
    job = FULL.new_job(Document('{"customer":"acme"}'))
    assert job.limits == (Limit("video.encode", "acme", 4), Limit("gpu", "", 2))


def test_keys_that_a_caller_names_stand_for_the_one_in_the_params() -> None:
    """S1.82."""
    [job, _] = FULL.new_jobs([Document('{"customer":"acme"}')] * 2, concurrency_keys=["a", "b"])
    assert job.limits == (Limit("video.encode", "a", 4), Limit("video.encode", "b", 4), Limit("gpu", "", 2))


@pytest.mark.parametrize("keys", ["acme", ["a", "a"], [""], ["a\n"], [7], [f"k{n}" for n in range(10)]])
def test_keys_that_a_caller_names_are_within_bounds(keys: Any) -> None:
    """Ten limits are the most of a job, and one of these ten is shared."""
    with pytest.raises(InvalidInput) as caught:
        FULL.new_job(Document("{}"), concurrency_keys=keys)
    assert caught.value.field == "concurrency_keys"
    for spec in (Spec(key="mail"), Spec(key="mail", concurrency=3)):
        with pytest.raises(InvalidInput, match="no limit"):
            spec.new_job(Document("{}"), concurrency_keys=keys)


def test_without_a_key_all_jobs_of_a_definition_share_its_limit() -> None:
    assert Spec(key="mail", concurrency=3).new_job(Document("{}")).limits == (Limit("mail", "", 3),)
    assert Spec(key="mail").new_job(Document("{}")).limits == ()


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ("name", "ada"),
        ("/name", "ada"),
        ("/user/id", "7"),
        ("/list/1", "b"),
        ("/a~1b", "slash"),
        ("a/b", "slash"),
        ("ready", "true"),
        ("ratio", "0.5"),
        ("nothing", ""),
        ("not there", ""),
        ("/list/9", ""),
        ("/name/deeper", ""),
    ],
)
def test_a_key_is_found_by_name_or_pointer(place: str, key: str) -> None:
    params = Document(
        '{"name":"ada","user":{"id":7},"list":["a","b"],"a/b":"slash","ready":true,"ratio":0.5,"nothing":null}'
    )
    assert key_in("mail", params, place) == key


@pytest.mark.parametrize("params", ['{"customer":{}}', '{"customer":[1]}', '{"customer":"a\\nb"}'])
def test_a_key_must_be_plain(params: str) -> None:
    with pytest.raises(InvalidParams) as caught:
        FULL.new_job(Document(params))
    assert caught.value.field == "params/customer"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("key", ""),
        ("key", "../x"),
        ("key", 7),
        ("version", 0),
        ("version", "1"),
        ("queue", "a b"),
        ("priority", 32_768),
        ("concurrency", -1),
        ("concurrency_key", "user"),
        ("limits", (Limit("a"), Limit("a"))),
        ("tags", ("a", "a")),
        ("memory", 100),
        ("cpu", 0),
        ("files", 1),
    ],
)
def test_a_definition_is_within_bounds(field: str, value: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        Spec(**{"key": "mail", field: value})
    assert caught.value.field == field


def test_a_limit_of_the_definitions_own_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="twice"):
        Spec(key="mail", concurrency=2, limits=(Limit("mail"),))


def test_a_scope_holds_only_what_the_caller_named() -> None:
    assert (scope_of("mail", None), scope_of("mail", 2)) == ("mail", "mail@2")


def test_keys_of_the_system_are_reserved() -> None:
    with pytest.raises(InvalidInput, match="reserved"):
        refuse_reserved("system.cancel")
    refuse_reserved("systematic")
