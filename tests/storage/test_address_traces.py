"""Which values hold the address or the password of a database, and which only look like it."""

from pathlib import Path

import pytest

from tenure.storage.address_traces import AddressTraces

PASSWORD = "p@ss/w:rd 47"
ENCODED = "p%40ss%2Fw%3Ard%2047"
ADDRESS = f"postgresql://jobs:{ENCODED}@db-1:5433,db-2/queue?pooled=true"


def found(
    value: str, *, address: str = ADDRESS, name: str = "SHOP", environment: dict[str, str] | None = None
) -> bool:
    return AddressTraces([address], environment or {}).are_in(name, value)


@pytest.mark.parametrize(
    "value",
    [
        ADDRESS,
        f"see {ADDRESS} for more",
        PASSWORD,
        ENCODED.lower(),
        "p%40ss%2Fw%3Ard+47",
        f'{{"password": "{PASSWORD}"}}',
        f"redis://:{ENCODED}@cache/0",
        f"https://elsewhere/?password={ENCODED}",
        "postgresql+asyncpg://db-1:5433/queue",
        "postgres://shop:other@db-2/queue?sslmode=require",
        "jdbc:postgresql://db-2:5432/queue?user=shop",
        "postgis://DB-2/queue",
        "postgresql://nowhere,db-1:5433/queue",
        "postgresql:///queue?host=db-2",
        "tcp://db-1:5433/queue",
        "host=db-2 dbname=queue user=shop",
        "dbname='queue' port=5433 host=db-1",
        '{"url": "postgres://db-2/queue"}',
    ],
)
def test_an_address_and_a_password_are_found_in_every_form(value: str) -> None:
    """S1.78: with another scheme, user or order, encoded or not, alone or inside something else."""
    assert found(value)


@pytest.mark.parametrize(
    "value",
    [
        "",
        "db-2",
        "queue",
        "postgresql://db-2/shop",
        "postgresql://db-2:6432/queue",
        "postgresql://db-1/queue",
        "https://db-2/queue",
        "amqp://db-2/queue",
        "host=db-2",
        "postgresql://[broken/queue",
        "%",
        "x" * 200_000,
    ],
)
def test_what_is_only_like_them_is_not(value: str) -> None:
    """A host or a name alone is no address. A long value costs no more than its length."""
    assert not found(value)


@pytest.mark.parametrize("password", ["", "x", "1", "app", "s3cret7", "postgres", "development"])
def test_a_password_like_an_ordinary_word_counts_only_as_a_password(password: str) -> None:
    """It would else withhold half of the environment: DEBUG=1, USER=app, a folder of PostgreSQL's."""
    traces = AddressTraces([f"postgresql://jobs:{password}@db/queue"], {})
    for value in (password, f"/usr/lib/{password}ql", f"x{password}", "postgresql://other:word@else/where"):
        assert not traces.are_in("SHOP_USER", value)
    is_one = bool(password)
    assert traces.are_in("SHOP_PASSWORD", password) is is_one
    assert traces.are_in("DB_PASS", password) is is_one
    assert traces.are_in("SHOP", f"mysql://root:{password}@else/where") is is_one
    assert traces.are_in("SHOP", f"user=shop password={password}") is is_one


def test_what_an_address_leaves_out_stands_in_the_variables_of_postgresql() -> None:
    variables = {"PGHOST": "db-9", "PGPORT": "6000", "PGDATABASE": "jobs", "PGPASSWORD": "pg-p4ssword"}
    for value in ("postgresql://db-9:6000/jobs", "is pg-p4ssword"):
        assert found(value, address="postgresql://", environment=variables)
    assert not found("postgresql://db-9/jobs", address="postgresql://", environment=variables)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_names_of_this_machine_are_one(host: str) -> None:
    assert found(f"postgresql://{host}/queue", address="postgresql://localhost/queue")


def test_the_name_of_a_database_is_its_users_unless_it_has_one() -> None:
    assert found("postgresql://other@db/shop", address="postgresql://shop@db")


def test_a_file_is_found_under_each_of_its_addresses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for value in (
        "sqlite:///tenure.db",
        f"sqlite+aiosqlite:///{tmp_path}/tenure.db",
        f"{tmp_path}/tenure.db",
    ):
        assert found(value, address="sqlite:///tenure.db")
    for value in ("tenure.db", "sqlite:///shop.db", f"{tmp_path}"):
        assert not found(value, address="sqlite:///tenure.db")


def test_an_address_that_cannot_be_read_is_found_as_it_is() -> None:
    """The worker itself refuses it, later and in words of its own."""
    assert found("postgresql://a:b@c@d/x", address="postgresql://a:b@c@d/x")
    assert not found("anything", address="postgresql://a:b@c@d/x")
