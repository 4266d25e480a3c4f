"""Between retention and rows, for both stores: what is set, what it means for pruning, what was removed."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

import msgspec

from tenure.core.errors import InvalidInput, RetentionBroken
from tenure.core.model.states import State
from tenure.core.reports.retention import (
    FOR_ALL,
    PARTS,
    Pruned,
    Retention,
    RetentionPolicy,
    RetentionRule,
    check_time,
)
from tenure.core.values.bounds import HORIZON, named
from tenure.storage.mapping.values import Row

_MILLISECOND = timedelta(milliseconds=1)
_COLUMNS = {"succeeded": "succeeded_ms", "others": "others_ms", "keyed": "keyed_ms", "logs": "log_ms"}
_counts = msgspec.json.Decoder(list[tuple[str, State, int]]).decode


def policy_from(rows: Iterable[Row]) -> RetentionPolicy:
    """All that is set. Raises RetentionBroken if it makes no sense, so that nothing is removed by it."""
    try:
        rules = {rule.definition: rule for rule in map(_rule_from, rows)}
    except (InvalidInput, OverflowError) as error:
        raise RetentionBroken(f"the table `retention` makes no sense, set it again: {error}") from error
    if FOR_ALL not in rules:
        raise RetentionBroken(
            "the table `retention` has no row for all definitions, so nothing is removed; set it again: "
            "tenure retention set --succeeded 7d --others 30d --keyed 7d"
        )
    usual = rules.pop(FOR_ALL)
    return RetentionPolicy(usual, tuple(rule for rule in rules.values() if rule.is_own))


def changed(definition: str, change: Mapping[str, timedelta | None]) -> dict[str, int | None]:
    """The parts to set, in milliseconds. Raises InvalidInput, naming the part."""
    if definition != FOR_ALL:
        named("definition", definition)
    for part, time in change.items():
        if part not in PARTS:
            raise InvalidInput(part, "is no part of retention", f"give one of {', '.join(PARTS)}")
        check_time(part, time)
        if time is None and definition == FOR_ALL and part != "logs":
            raise InvalidInput(part, "is missing", "give a time: it is the one for all definitions")
    return {part: None if (time := change.get(part)) is None else time // _MILLISECOND for part in PARTS}


def shortest(retention: Retention, own: Mapping[str, Retention]) -> timedelta:
    """The age below which no job of anyone goes."""
    return min(one.shortest for one in (retention, *own.values()))


def shortest_logs(retention: Retention, own: Mapping[str, Retention]) -> timedelta:
    """The age below which no log lines of anyone go before their job."""
    times = [one.logs for one in (retention, *own.values()) if one.logs is not None]
    return min(times, default=HORIZON)


def pruned_from(row: Row) -> Pruned:
    """What a round of pruning did."""
    counts = {(definition, state): n for definition, state, n in _counts(row["counts"] or "[]")}
    return Pruned(row["jobs"], row["next"], counts)


def _rule_from(row: Row) -> RetentionRule:
    times = {part: row[column] for part, column in _COLUMNS.items()}
    parts = {part: None if time is None else timedelta(milliseconds=time) for part, time in times.items()}
    for part, time in parts.items():
        check_time(part, time)
    return RetentionRule(definition=row["definition"], by=row["by"], at=row["at"], **parts)
