"""Which variables handlers are given, what the worker says of it, and what is said of one that is missing."""

import pytest

from tenure.core.values.failure import Failure
from tenure.execution.protocol.environment import ChildEnvironment
from tenure.execution.protocol.variables import OF_THE_PROCESS

VARIABLES = {
    "PATH": "/bin",
    "HOME": "/home/shop",
    "AWS_REGION": "eu",
    "AWS_PROFILE": "shop",
    "MY_AWS_REGION": "us",
    "SHOP_KEY": "k",
    "SHOP_DATABASE": "the address",
    "PGHOST": "db",
    "TENURE_DATABASE": "the address",
    "TENURE_CHILD_ENV": "SHOP_KEY",
    "TENURE_SLOTS": "3",
    "NOTIFY_SOCKET": "/run/notify",
}
OPEN = {"PATH", "HOME", "AWS_REGION", "AWS_PROFILE", "MY_AWS_REGION", "SHOP_KEY"}


def made(*allowed: str, **set_here: str) -> ChildEnvironment:
    return ChildEnvironment(
        VARIABLES, allowed, set_here=set_here, is_secret=lambda _name, value: value == "the address"
    )


@pytest.mark.parametrize(
    ("allowed", "given"),
    [
        (["*"], OPEN),
        (["*", "SHOP_DATABASE", "PGHOST"], OPEN | {"SHOP_DATABASE", "PGHOST"}),
        ([], {"PATH", "HOME"}),
        (["AWS_*"], {"PATH", "HOME", "AWS_REGION", "AWS_PROFILE"}),
        (["*_REGION", "SHOP_KEY"], {"PATH", "HOME", "AWS_REGION", "MY_AWS_REGION", "SHOP_KEY"}),
        (["SHOP_*"], {"PATH", "HOME", "SHOP_KEY"}),
        (["aws_*"], {"PATH", "HOME"}),
        (["SHOP_DATABASE", "NOTIFY_SOCKET"], {"PATH", "HOME", "SHOP_DATABASE", "NOTIFY_SOCKET"}),
        (["TENURE_DATABASE", "TENURE_CHILD_ENV", "MISSING"], {"PATH", "HOME"}),
    ],
)
def test_patterns_give_what_is_not_the_workers_own_and_names_whatever_they_name(
    allowed: list[str], given: set[str]
) -> None:
    """S1.78: settings, addresses and the service manager's words; the store's address by no name at all."""
    assert set(made(*allowed).shared) == given


def test_what_a_service_manager_said_to_the_worker_is_for_no_job() -> None:
    shared = ChildEnvironment(dict.fromkeys((*OF_THE_PROCESS, "INVOCATION_ID"), "1")).shared
    assert set(shared) == {"INVOCATION_ID"}


def test_what_tenure_itself_sets_is_given_in_any_case() -> None:
    assert made(TENURE_TRACING="otlp", HOME="/other").shared == {
        "PATH": "/bin",
        "HOME": "/other",
        "TENURE_TRACING": "otlp",
    }


def test_a_definition_is_given_what_it_names_but_never_the_way_to_the_store() -> None:
    own = made().own(["SHOP_KEY", "SHOP_DATABASE", "TENURE_DATABASE", "TMPDIR", "MISSING"])
    assert own == {"SHOP_KEY": "k", "SHOP_DATABASE": "the address"}


@pytest.mark.parametrize(
    ("allowed", "said"),
    [
        (["*"], "database's address or password (SHOP_DATABASE); TENURE_CHILD_ENV can name fewer"),
        (["*", "SHOP_DATABASE"], "; TENURE_CHILD_ENV gives them SHOP_DATABASE all the same"),
        (["SHOP_KEY", "AWS_*"], "HOME, LANG, TZ, TMPDIR and, by TENURE_CHILD_ENV, AWS_*, SHOP_KEY"),
        ([], "HOME, LANG, TZ, TMPDIR; TENURE_CHILD_ENV names no other"),
    ],
)
def test_the_worker_says_what_its_handlers_see(allowed: list[str], said: str) -> None:
    notice = made(*allowed, PYTHONDONTWRITEBYTECODE="1", TENURE_TRACING="otlp").notice  # set here: not told
    assert notice.endswith(said)
    assert "the address" not in notice
    is_open = "*" in allowed
    assert notice.startswith("environment: handlers see this worker's variables, except TENURE_*") is is_open


NOT_NAMED = (
    "; the worker has the variable SHOP_KEY, but TENURE_CHILD_ENV does not name it, so its handlers have not"
)


@pytest.mark.parametrize(
    "error",
    [
        Failure("KeyError", "'SHOP_KEY'", "Traceback …\nKeyError: 'SHOP_KEY'\n"),
        Failure(
            "app.Misconfigured", "bad", "KeyError: 'SHOP_KEY'\n\nThe above …\n\napp.Misconfigured: bad\n"
        ),
        Failure("AppFailed", "jobs:app cannot be loaded: KeyError: 'SHOP_KEY'"),
        Failure("app.Misconfigured", "Set the SHOP_KEY environment variable"),
        Failure("decouple.UndefinedValueError", "SHOP_KEY not found. Declare it as envvar."),
    ],
)
def test_a_handler_that_misses_a_variable_of_the_workers_is_told_why(error: Failure) -> None:
    told = made("AWS_*").explained(error)
    assert told.message == error.message + NOT_NAMED
    assert (told.kind, told.traceback) == (error.kind, error.traceback)
    assert made("*").explained(error) == error
    assert made().explained(error, given=["SHOP_KEY"]) == error


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("SHOP_DATABASE", "because its value holds the database's address or password; "),
        ("PGHOST", "because it is a setting of Tenure or of PostgreSQL; "),
        ("TENURE_SLOTS", "because it is a setting of Tenure or of PostgreSQL; "),
        ("NOTIFY_SOCKET", "because it is for the worker's own process; "),
    ],
)
def test_what_is_withheld_has_its_reason_and_a_way_out(name: str, reason: str) -> None:
    told = made("*").explained(Failure("KeyError", f"'{name}'")).message
    assert told.endswith(
        f"withholds it from its handlers, {reason}TENURE_CHILD_ENV=*,{name} gives it to them"
    )
    assert "the address" not in told
    assert made("*", name).explained(Failure("KeyError", f"'{name}'")).message == f"'{name}'"


def test_the_stores_address_has_no_way_out() -> None:
    told = made("*", "TENURE_DATABASE").explained(Failure("KeyError", "'TENURE_DATABASE'")).message
    assert told.endswith("but no handler is ever given it: to enqueue jobs, use ctx.enqueue")


@pytest.mark.parametrize(
    "error",
    [
        Failure("KeyError", "'UNKNOWN'"),
        Failure("KeyError", "'PATH'"),
        Failure("KeyError", "5"),
        Failure("ValueError", "SHOP_KEY"),
        Failure("ValueError", "no environment"),
    ],
)
def test_other_failures_are_left_as_they_are(error: Failure) -> None:
    assert made().explained(error) is error
