"""Addresses of PostgreSQL: one server or several, in both forms; what is shown of them holds no password."""

import pytest

from tenure import Tenure
from tenure.core.errors import InvalidInput
from tenure.core.values.urls import masked, masked_in
from tenure.settings.settings import Settings
from tenure.storage.address import shown
from tenure.storage.postgres.wire.addresses import DatabaseServer, read_address

SECRET = "s3cret"
SEVERAL = [
    f"postgresql://ada:{SECRET}@one:5432,two:5433/jobs",
    f"postgresql://ada:{SECRET}@one,two:5433/jobs?target_session_attrs=read-write",
    f"postgresql:///jobs?host=one,two&port=5432,5433&user=ada&password={SECRET}",
    f"postgresql://ada:{SECRET}@/jobs?host=one:5432,two:5433&pooled=false",
    f"postgres:///jobs?password={SECRET}&host=one,two&port=5432,5433&target_session_attrs=primary",
    f"postgresql:///jobs?p%61ssword={SECRET}&host=one,two&port=5432,5433",
    f"postgresql:///jobs?host=one,two&port=5432,5433&%70%41%53s%77O%72%64={SECRET}",
]


@pytest.mark.parametrize("database", SEVERAL)
def test_several_servers_are_read_in_every_form(database: str) -> None:
    address = read_address(database)
    assert address.servers == (DatabaseServer("one", 5432), DatabaseServer("two", 5433))
    assert address.where == "one:5432,two:5433/jobs"


@pytest.mark.parametrize("database", SEVERAL)
def test_an_address_with_several_servers_is_shown_without_its_password(database: str) -> None:
    texts = [
        *(masked(database), shown(database), masked_in(f"see {database} there")),
        *(repr(Tenure(database)), repr(Settings(database=database)), read_address(database).where),
    ]
    for text in texts:
        assert SECRET not in text
        assert "one" in text
        assert "two" in text


@pytest.mark.parametrize(
    ("database", "servers"),
    [
        ("postgresql://db/jobs", [("db", 5432)]),
        ("postgresql:///jobs", []),
        ("postgresql:///jobs?host=one,two&port=6432", [("one", 6432), ("two", 6432)]),
        ("postgresql:///jobs?host=one,two", [("one", 5432), ("two", 5432)]),
        ("postgresql:///jobs?host=/run/postgresql", [("/run/postgresql", 5432)]),
        ("postgresql://%2Frun%2Fpostgresql/jobs", [("/run/postgresql", 5432)]),
        ("postgresql://[::1]:5433/jobs", [("::1", 5433)]),
        ("postgresql:///jobs?host=[::1]:1,[::2]:2", [("::1", 1), ("::2", 2)]),
    ],
)
def test_servers_are_read_as_the_driver_reads_them(database: str, servers: list[DatabaseServer]) -> None:
    assert list(read_address(database).servers) == servers


@pytest.mark.parametrize(
    "hosts",
    ["one:5432,two:many", "one:5432,", ",two", "one:0,two", "one:5432,two:99999", "p@rt@one,two", "[::1,two"],
)
def test_servers_that_cannot_be_read_are_refused_without_the_password(hosts: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be read") as caught:
        read_address(f"postgresql://ada:{SECRET}@{hosts}/jobs")
    assert caught.value.field == "database"
    assert "host:port,host:port" in caught.value.remedy
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "rest", ["host=one,two&port=1,2,3", "host=one,,two", "host=one&port=x", "host=one,two&port=1,"]
)
def test_servers_in_parameters_that_cannot_be_read_are_refused(rest: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_address(f"postgresql:///jobs?{rest}")


@pytest.mark.parametrize("target", ["standby", "read-only", "prefer-standby", "nonsense"])
def test_a_choice_of_servers_that_do_not_write_is_refused(target: str) -> None:
    with pytest.raises(InvalidInput, match=f"target_session_attrs={target}") as caught:
        read_address(f"postgresql://one,two/jobs?target_session_attrs={target}")
    assert "read-write" in caught.value.remedy


def test_the_driver_is_not_given_what_is_ours() -> None:
    address = read_address("postgresql://one,two/jobs?pooled=true&target_session_attrs=any")
    assert address.pooled
    assert address.dsn == "postgresql://one,two/jobs?target_session_attrs=any"
