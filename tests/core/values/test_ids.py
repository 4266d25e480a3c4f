"""Ids are UUIDs of version 7: they carry their time, sort by it, and do not collide."""

from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenure.core.errors import InvalidInput
from tenure.core.values.ids import uuid7

times = st.integers(0, 2**48 - 1)
randoms = st.binary(min_size=10, max_size=10)


def test_the_example_of_the_rfc_comes_out_bit_by_bit() -> None:
    """RFC 9562, appendix A.6: 2022-02-22 19:22:22 UTC, rand_a 0xCC3, rand_b 0x18C4DC0C0C07398F."""
    random = (0xCC3 << 62 | 0x18C4DC0C0C07398F).to_bytes(10, "big")
    assert uuid7(0x017F22E279B0, random) == UUID("017F22E2-79B0-7CC3-98C4-DC0C0C07398F")


@given(times, randoms)
def test_version_variant_and_time_stand_where_the_rfc_has_them(unix_ms: int, random: bytes) -> None:
    made = uuid7(unix_ms, random)
    assert made.version == 7
    assert made.variant == RFC_4122
    assert made.int >> 80 == unix_ms
    assert made.bytes[:6] == unix_ms.to_bytes(6, "big")


@given(times, times, randoms, randoms)
def test_ids_sort_by_time_as_values_bytes_and_text(one: int, other: int, first: bytes, second: bytes) -> None:
    early, late = sorted((one, other))
    if early < late:
        assert uuid7(early, first) < uuid7(late, second)
        assert uuid7(early, first).bytes < uuid7(late, second).bytes
        assert str(uuid7(early, first)) < str(uuid7(late, second))


def test_seventy_four_random_bits_tell_ids_of_one_millisecond_apart() -> None:
    made = {uuid7(0, (1 << bit).to_bytes(10, "big")) for bit in range(74)}
    assert len(made | {uuid7(0, bytes(10))}) == 75


@pytest.mark.parametrize("unix_ms", [-1, 2**48])
def test_a_time_that_does_not_fit_is_refused(unix_ms: int) -> None:
    with pytest.raises(InvalidInput) as refusal:
        uuid7(unix_ms, bytes(10))
    assert refusal.value.field == "unix_ms"


@pytest.mark.parametrize("size", [0, 9, 11])
def test_too_little_or_too_much_randomness_is_refused(size: int) -> None:
    with pytest.raises(InvalidInput) as refusal:
        uuid7(0, bytes(size))
    assert refusal.value.field == "random"
