"""The search box."""

from uuid import uuid4

import pytest

from tenure.api import inputs
from tenure.core.errors import InvalidInput
from tenure.core.model.states import State
from tenure.core.reports.reading import Filter
from tenure.surfaces.dashboard.pages.jobs.search import read


def test_words_narrow_the_list() -> None:
    search = read("  definition:email.welcome queue:mail tag:urgent after:2030-01-31T08:30:00Z ")
    assert search.filter(frozenset({State.FAILED}), "team") == Filter(
        states=frozenset({State.FAILED}),
        definition="email.welcome",
        queue="mail",
        tag="urgent",
        namespace="team",
        created_after=inputs.moment("2030-01-31T08:30:00Z"),
    )


def test_a_bare_name_is_a_definition_and_a_name_may_have_colons() -> None:
    assert read("email.welcome").fields == {"definition": "email.welcome"}
    assert read("tag:a:b").fields == {"tag": "a:b"}
    assert read("fingerprint:mail.send:3fa2b1c4d5e6").fields == {"fingerprint": "mail.send:3fa2b1c4d5e6"}
    assert read("").fields == {}


def test_an_id_is_that_job() -> None:
    job = uuid4()
    assert read(f" {job} ").job == job
    assert read(str(job).upper()).job == job


def test_words_that_no_index_has_are_kept_apart_and_match_no_filter() -> None:
    search = read('queue:mail error:"no route" param.customer.id:7 key:a:b worker:mill-1 schedule:nightly')
    assert search.fields == {"queue": "mail"}
    assert search.looks == {
        "error": "no route",
        "param.customer.id": "7",
        "key": "a:b",
        "worker": "mill-1",
        "schedule": "nightly",
    }
    with pytest.raises(InvalidInput):  # what is done to all that match must not be done to more
        search.filter(frozenset(), None)


@pytest.mark.parametrize(
    "text",
    [
        "error:",
        "param.:x",
        "param:x",
        'error:""',
        "key:a key:b",
        "colour:red",
        "queue:",
        "queue:a queue:b",
        "after:yesterday",
        "<script>",
        "a" * 500,
        "tag:a/b",
    ],
)
def test_what_cannot_be_sought_is_refused_with_the_way_out(text: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(text)
    assert refused.value.remedy
