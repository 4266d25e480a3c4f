"""Verifying: a database whose guards are not exactly the table of steps is not worked on."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from tenure.core.errors import SchemaMismatch
from tenure.storage.contract.store import Store
from tests.storage.backends import Backend

GUARDS = {
    "sqlite": "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'",
    "postgres": "SELECT tgname, tgrelid::regclass::text, pg_get_triggerdef(oid) FROM pg_trigger"
    " WHERE NOT tgisinternal AND tgrelid::regclass::text LIKE 'tenure.%'",
}
FUNCTION = "SELECT pg_get_functiondef('tenure.{}'::regproc)"


class Guard(NamedTuple):
    """One trigger, as the database describes it."""

    name: str
    table: str
    text: str


async def guards(backend: Backend) -> list[Guard]:
    """Every trigger there is."""
    return [Guard(*row) for row in await backend.sql(GUARDS[backend.kind])]


async def drop(backend: Backend, guard: Guard) -> None:
    """Take one trigger away."""
    on = f" ON {guard.table}" if backend.kind == "postgres" else ""
    await backend.sql(f"DROP TRIGGER {guard.name}{on}")


async def rewrite(backend: Backend, guard: Guard, change: Callable[[str], str]) -> None:
    """Put another trigger in the place of one."""
    changed = change(guard.text)
    assert changed != guard.text
    await drop(backend, guard)
    await backend.sql(changed)


async def rewrite_steps(backend: Backend, change: Callable[[str], str]) -> None:
    """Change the list of legal steps where the database keeps it."""
    if backend.kind == "sqlite":
        [guard] = [guard for guard in await guards(backend) if guard.name == "tenure_guard_step"]
        await rewrite(backend, guard, change)
    else:
        [(text,)] = await backend.sql(FUNCTION.format("is_step"))
        assert change(text) != text
        await backend.sql(change(text))


async def test_a_database_just_migrated_is_as_it_should_be(bare: Store) -> None:
    await bare.migrate()
    await bare.verify()


async def test_every_guard_that_is_missing_is_missed(empty: Backend, bare: Store) -> None:
    """S0.11, S0.24: without all its guards the database would take an illegal step."""
    await bare.migrate()
    places = {"limited"} if empty.kind == "postgres" else set()
    assert {guard.table.removeprefix("tenure")[1:] for guard in await guards(empty)} == {
        *places,
        *("job", "job_state", "event", "attempt", "log", "result", "access_key", "audit", "session"),
        *("step", "signal"),
    }
    for guard in await guards(empty):
        await drop(empty, guard)
        with pytest.raises(SchemaMismatch):
            await bare.verify()
        await empty.sql(guard.text)
        await bare.verify()


async def test_a_step_too_many_is_noticed(empty: Backend, bare: Store) -> None:
    """S0.24: a guard that lets an illegal step pass is not ours."""
    await bare.migrate()
    await rewrite_steps(empty, lambda text: text.replace(" IN (", " IN ('buried', ", 1))
    with pytest.raises(SchemaMismatch):
        await bare.verify()


async def test_a_step_too_few_is_noticed(empty: Backend, bare: Store) -> None:
    """S0.24: a guard that refuses a legal step is not ours."""
    await bare.migrate()
    await rewrite_steps(empty, lambda text: text.replace("'queued', ", "", 1))
    with pytest.raises(SchemaMismatch):
        await bare.verify()


async def test_every_guard_that_looks_away_is_noticed(empty: Backend, bare: Store) -> None:
    """S0.24: a guard whose condition was weakened is not ours."""
    await bare.migrate()
    for guard in [guard for guard in await guards(empty) if "WHEN " in guard.text]:
        await rewrite(empty, guard, with_closed_eyes)
        with pytest.raises(SchemaMismatch):
            await bare.verify()
        await drop(empty, guard)
        await empty.sql(guard.text)
        await bare.verify()


def with_closed_eyes(text: str) -> str:
    """A trigger whose condition never holds."""
    before, when, condition = text.partition("WHEN (" if "WHEN (" in text else "WHEN ")
    return f"{before}{when}false AND {condition}"


async def test_a_guard_that_no_longer_refuses_is_noticed(empty: Backend, bare: Store) -> None:
    """S0.24: a guard that sees an illegal step and lets it pass is not ours."""
    await bare.migrate()
    if empty.kind == "sqlite":
        await rewrite_steps(empty, lambda text: text.replace("RAISE(ABORT, ", "upper("))
    else:
        [(text,)] = await empty.sql(FUNCTION.format("refuse"))
        await empty.sql(text.replace("RAISE EXCEPTION", "RAISE NOTICE"))
    with pytest.raises(SchemaMismatch):
        await bare.verify()


async def test_a_judge_that_looks_away_is_noticed(empty: Backend, bare: Store) -> None:
    """S0.24: on PostgreSQL most steps are judged by a function, which must be ours as well."""
    await bare.migrate()
    if empty.kind == "sqlite":
        await rewrite_steps(empty, lambda text: text.replace("NEW.n = OLD.n + 1", "true"))
    else:
        [(text,)] = await empty.sql(FUNCTION.format("judge"))
        await empty.sql(text.replace("NEW.n = OLD.n + 1", "true"))
    with pytest.raises(SchemaMismatch):
        await bare.verify()


async def test_a_job_that_may_run_without_a_lease_is_noticed(empty: Backend, bare: Store) -> None:
    """S0.31: the rule that ties a lease to its state is a guard as well."""
    await bare.migrate()
    if empty.kind == "sqlite":
        await empty.sql(
            "PRAGMA writable_schema = on; UPDATE sqlite_schema SET sql = "
            "replace(sql, '= (lease IS NOT NULL)', '>= 0') WHERE name = 'tenure_job_state'"
        )
    else:
        await empty.sql("ALTER TABLE tenure.job_state DROP CONSTRAINT lease_while_owned")
    with pytest.raises(SchemaMismatch):
        await bare.verify()
