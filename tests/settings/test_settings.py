"""Settings: which source wins, and how a wrong value is refused."""

from pathlib import Path
from typing import Any

import pytest

from tenure.core.errors import InvalidInput
from tenure.settings.settings import Settings
from tenure.settings.sources import ALIASES, load


@pytest.fixture(autouse=True)
def _empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test begins without a tenure.toml."""
    monkeypatch.chdir(tmp_path)


def write(text: str, name: str = "tenure.toml") -> None:
    Path(name).write_text(text)


def test_without_a_word_the_defaults_are_in_force() -> None:
    assert load(environment={}) == (Settings(), {})
    assert Settings().database == "sqlite:///tenure.db"
    assert (Settings().lease_seconds, Settings().heartbeat) == (30, 10)
    assert (Settings(lease_seconds=6).heartbeat, Settings(lease_seconds=3600).heartbeat) == (2, 10)


def test_arguments_win_over_the_environment_which_wins_over_the_file() -> None:
    write('slots = 1\nport = 1\nhost = "file"\n')
    settings, sources = load({"slots": 3}, environment={"TENURE_SLOTS": "2", "TENURE_PORT": "2"})
    assert (settings.slots, settings.port, settings.host) == (3, 2, "file")
    assert sources == {"slots": "slots", "port": "TENURE_PORT", "host": "tenure.toml: host"}


def test_an_argument_that_was_not_given_changes_nothing() -> None:
    assert load({"slots": None}, environment={"TENURE_SLOTS": "2"}).settings.slots == 2


def test_another_file_may_be_named() -> None:
    write("slots = 5", "other.toml")
    assert load(environment={"TENURE_CONFIG": "other.toml"}).settings.slots == 5
    assert load(environment={}, file=Path("other.toml")).settings.slots == 5
    with pytest.raises(InvalidInput, match=r"missing\.toml: does not exist"):
        load(environment={"TENURE_CONFIG": "missing.toml"})


def test_lists_are_written_with_commas_or_as_lists() -> None:
    assert load(environment={"TENURE_QUEUES": "a, b,"}).settings.queues == ("a", "b")
    write('queues = ["a", "b"]')
    assert load(environment={}).settings.queues == ("a", "b")


@pytest.mark.parametrize(
    ("variable", "value", "name", "in_force"),
    [
        ("MAX_CONCURRENT_EXECUTIONS", "7", "slots", 7),
        ("CANCEL_GRACE_MS", "2500", "grace_seconds", 2.5),
        ("JOB_BUFFER_SIZE", "9", "buffer", 9),
        ("TASK_TIMEOUT", "60", "timeout_seconds", 60),
        ("DELTA", "5", "lost_margin_seconds", 5),
        ("MAX_RETRIES", "8", "max_attempts", 8),
        ("LOCK_TIMEOUT", "300", "lock_timeout_seconds", 300),
    ],
)
def test_the_names_of_the_designs_work(variable: str, value: str, name: str, in_force: float) -> None:
    loaded = load(environment={f"TENURE_{variable}": value})
    assert getattr(loaded.settings, name) == in_force
    assert loaded.sources == {name: f"TENURE_{variable}"}


@pytest.mark.parametrize(("alias", "name"), [(alias, ALIASES[alias].name) for alias in ALIASES])
def test_both_names_at_once_are_one_too_many(alias: str, name: str) -> None:
    with pytest.raises(InvalidInput, match="is the same setting as"):
        load(environment={f"TENURE_{alias.upper()}": "5", f"TENURE_{name.upper()}": "5"})


@pytest.mark.parametrize(
    ("variable", "nearest"),
    [
        ("TENURE_SLOT", "TENURE_SLOTS"),
        ("TENURE_DATABSE", "TENURE_DATABASE"),
        ("TENURE_MAX_RETRYS", "TENURE_MAX_RETRIES"),
    ],
)
def test_an_unknown_name_suggests_the_nearest(variable: str, nearest: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(environment={variable: "1"})
    assert caught.value.field == variable
    assert caught.value.remedy == f"did you mean {nearest}?"


def test_an_unknown_name_in_the_file_is_told_with_the_file() -> None:
    write("slotts = 1")
    with pytest.raises(InvalidInput, match=r"tenure\.toml: slotts: is not a setting; did you mean slots\?"):
        load(environment={})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        *(("SLOTS", value) for value in ("0", "-1", "x", "1000000", "1.5", "", "1_0", "٣")),
        *(("PORT", value) for value in ("-1", "65536", "http")),
        *(("LEASE_SECONDS", value) for value in ("0", "nan", "inf", "1e9", "-5")),
        *(("POLL_SECONDS", value) for value in ("0", "-1")),
        *(("JOB_BUFFER_SIZE", value) for value in ("-1", "1001", "0.5")),
        *(("HEARTBEAT_SECONDS", value) for value in ("0", "0.05")),
        *(("DELTA", value) for value in ("-1", "86401")),
        *(("LOCK_TIMEOUT", value) for value in ("0", "86401")),
        ("DATABASE", ""),
        ("QUEUES", "a b"),
        *(("CHILD_ENV", value) for value in ("A=B", "A B", "AWS_?", "1A", "A,-", "PG*", "TENURE_C*")),
        *(("SWEEP_SECONDS", value) for value in ("0", "86401")),
        ("TRANSPORT", "kafka"),
        *(("SQS_QUEUE_URL", value) for value in ("jobs", "https://sqs.eu-west-1.amazonaws.com", "s3://a/b")),
        ("WEBHOOK_ALLOW", "10.0.0.1/8"),
        ("TRUSTED_PROXIES", "proxy.example"),
        ("MAX_ATTEMPTS", "0"),
        ("MAX_RETRIES", "101"),
    ],
)
def test_a_value_that_cannot_be_is_told_by_the_name_it_was_given(variable: str, value: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(environment={f"TENURE_{variable}": value})
    assert caught.value.field == f"TENURE_{variable}"


@pytest.mark.parametrize("line", ['slots = "x"', "slots = 1.5", "slots = true", "slots = [1]", "host = 5"])
def test_a_wrong_type_in_the_file_is_told_with_its_place(line: str) -> None:
    write(line)
    with pytest.raises(InvalidInput) as caught:
        load(environment={})
    assert caught.value.field == f"tenure.toml: {line.split(maxsplit=1)[0]}"


@pytest.mark.parametrize("text", ["slots = 1\nslots = 2", "slots =", "\xff"])
def test_what_is_no_toml_is_told_with_the_file(text: str) -> None:
    Path("tenure.toml").write_bytes(text.encode("latin-1"))
    with pytest.raises(InvalidInput, match=r"^tenure\.toml: is not TOML"):
        load(environment={})


def test_a_heartbeat_that_comes_too_seldom_is_told_with_both_numbers_and_both_ways_out() -> None:
    with pytest.raises(InvalidInput) as caught:
        load(environment={"TENURE_LEASE_SECONDS": "20", "TENURE_HEARTBEAT_SECONDS": "10"})
    assert (caught.value.field, caught.value.problem) == (
        "TENURE_HEARTBEAT_SECONDS",
        "is 10 with a lease of 20 seconds",
    )
    assert caught.value.remedy.endswith("give less than 10, or set lease_seconds to more than 20")
    assert load(environment={"TENURE_LEASE_SECONDS": "21", "TENURE_HEARTBEAT_SECONDS": "10"})


def test_a_transport_without_its_queue_is_told_what_is_missing() -> None:
    with pytest.raises(
        InvalidInput, match="sqs_queue_url: is missing, and the transport is sqs; give the URL"
    ):
        load({"transport": "sqs"})
    url = "http://127.0.0.1:9324/000000000000/jobs"
    assert load({"transport": "sqs", "sqs_queue_url": url}).settings.sqs_queue_url == url
    with pytest.raises(InvalidInput, match=r"sqs_queue_url: names a FIFO queue.*; make a standard queue"):
        load({"transport": "sqs", "sqs_queue_url": f"{url}.fifo"})


def test_a_margin_beyond_the_longest_lease_is_refused() -> None:
    with pytest.raises(InvalidInput, match="TENURE_DELTA: is 86400 with a lease of 30 seconds; together"):
        load(environment={"TENURE_DELTA": "86400"})


SERVICE = {
    "TENURE_SERVICE_HOST": "10.96.0.17",
    "TENURE_SERVICE_PORT": "8080",
    "TENURE_SERVICE_PORT_HTTP": "8080",
    "TENURE_PORT": "tcp://10.96.0.17:8080",
    "TENURE_PORT_8080_TCP": "tcp://10.96.0.17:8080",
    "TENURE_PORT_8080_TCP_PROTO": "tcp",
    "TENURE_PORT_8080_TCP_PORT": "8080",
    "TENURE_PORT_8080_TCP_ADDR": "10.96.0.17",
}
"""What Kubernetes sets in a pod for a Service named `tenure`."""


def test_what_kubernetes_tells_of_a_service_is_no_setting() -> None:
    """A Service whose name begins with ours, whatever follows, and by IPv6 as well."""
    metrics = {name.replace("TENURE_", "TENURE_METRICS_"): value for name, value in SERVICE.items()}
    sixth = {"TENURE_API_SERVICE_HOST": "fd00::1", "TENURE_API_PORT": "udp://[fd00::1]:53"}
    loaded = load(environment={**SERVICE, **metrics, **sixth, "TENURE_SLOTS": "3"})
    assert (loaded.settings, loaded.sources) == (Settings(slots=3), {"slots": "TENURE_SLOTS"})


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("TENURE_PORT", "tcp://10.96.0.17"),
        ("TENURE_PORT", "http://10.96.0.17:8080"),
        ("TENURE_PORT_8080", "8080"),
        ("TENURE_PORTS", "8080"),
        ("TENURE_METRIC_PORT", "8080"),
        ("TENURE_HOST_PORT", "8080"),
        ("TENURE_SERVICE", "10.96.0.17"),
        ("TENURE_SERVICE_HOST", "jobs.example"),
        ("TENURE_SERVICE_PORT", "http"),
        ("TENURE_HTTP_SERVICES", "8080"),
    ],
)
def test_what_only_looks_like_that_is_refused(variable: str, value: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(environment={variable: value})
    assert caught.value.field == variable


def test_variables_of_the_tests_are_nobodys_setting() -> None:
    assert load(environment={"TENURE_TEST_POSTGRES": "postgresql://x", "HOME": "/"}).sources == {}


def test_the_defaults_of_definitions_reach_another_process() -> None:
    here = Settings(timeout_seconds=12.5, max_attempts=7, grace_seconds=1234567.0 / 1000)
    there = load(environment=here.for_definitions()).settings
    assert there == here


@pytest.mark.parametrize("given", [{"slots": "many"}, {"colour": "blue"}])
def test_arguments_are_judged_like_the_rest(given: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        load(given, environment={})
    assert caught.value.field == next(iter(given))


@pytest.mark.parametrize("name", ["log_format", "log_level"])
def test_a_word_that_is_none_of_the_choices_is_refused_with_them(name: str) -> None:
    with pytest.raises(InvalidInput, match=r"is 'loud'; give one of \w+, \w+") as caught:
        load(environment={f"TENURE_{name.upper()}": "loud"})
    assert caught.value.field == f"TENURE_{name.upper()}"


def test_settings_show_no_password() -> None:
    """S1.79: wherever they are printed, as in a traceback."""
    given = {"database": "postgresql://ada:s3cret@db/jobs", "slots": 3, "webhook_key": "s3cret" * 6}
    loaded = load(given, environment={})
    for shown in (repr(loaded), str(loaded.settings), f"{loaded.settings}"):
        assert "postgresql://ada:***@db/jobs" in shown
        assert "slots=3" in shown
        assert "webhook_key='***'" in shown
        assert "s3cret" not in shown
    assert "s3cret" not in str(loaded.settings.shown())
    assert Settings().shown()["webhook_key"] == ""


@pytest.mark.parametrize("length", [31, 1025])
def test_a_key_of_webhooks_that_is_too_short_is_refused_without_showing_it(length: int) -> None:
    with pytest.raises(InvalidInput, match=r"give 32 to 1024, made at random") as caught:
        load(environment={"TENURE_WEBHOOK_KEY": "s" * length})
    assert caught.value.field == "TENURE_WEBHOOK_KEY"
    assert "sss" not in str(caught.value)


@pytest.mark.parametrize("name", ["child_memory_bytes", "child_files", "child_file_bytes"])
def test_a_limit_of_attempts_is_lifted_by_nothing_but_0(name: str) -> None:
    assert getattr(load({name: "0"}, environment={}).settings, name) == 0
    with pytest.raises(InvalidInput, match=f"{name}: is 5; give at least .*, or 0 for no limit"):
        load({name: "5"}, environment={})


@pytest.mark.parametrize(
    ("text", "names"),
    [("", ()), ("*", ("*",)), ("AWS_*, A,PGHOST", ("AWS_*", "A", "PGHOST")), ("*_URL", ("*_URL",))],
)
def test_handlers_are_given_everything_or_what_a_list_names(text: str, names: tuple[str, ...]) -> None:
    """S1.78: an empty list is a list, which names nothing."""
    assert load(environment={"TENURE_CHILD_ENV": text}).settings.child_env == names
    assert Settings().child_env == ("*",)
