"""Every JSON document passes one strict check, and what is refused says what, where and what to do."""

import json
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from datetime import time as clock_time
from decimal import Decimal
from enum import Enum
from functools import partial
from hashlib import blake2b
from typing import Any
from uuid import UUID

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tenure.core.errors import InvalidJson
from tenure.core.values.document_faults import DEEPEST, MOST_DIGITS, MOST_KEYS
from tenure.core.values.documents import Document, canonical_hash, check, read, write
from tenure.core.values.text import storable

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
numbers = st.integers(-(10**40), 10**40) | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | text
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(text, inner), max_leaves=20)


class Point(msgspec.Struct):
    """A struct, as a handler may return it."""

    x: int
    label: str | None = None


@dataclass
class Pair:
    """A dataclass, as a handler may return it."""

    left: object
    right: object


class Colour(Enum):
    """An enum, as a handler may return it."""

    RED = "red"


def refusal(call: Callable[[Any], object], given: Any) -> InvalidJson:
    with pytest.raises(InvalidJson) as caught:
        call(given)
    return caught.value


def short(parameter: object) -> str | None:
    return ascii(parameter)[:30] if isinstance(parameter, str | bytes) else None


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


class TestReading:
    @given(values)
    @example({"": {"~/": ["\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")]}})
    def test_what_json_can_say_comes_through_unchanged(self, value: Any) -> None:
        for spelling in (
            json.dumps(value),
            json.dumps(value, ensure_ascii=False),
            json.dumps(value, indent=2),
        ):
            assert read(spelling) == value
            assert read(spelling.encode()) == value
            assert json.loads(check(spelling)) == value

    def test_white_space_goes_and_everything_else_stays_as_it_was_spelled(self) -> None:
        spelled = ' { "b" : 1.50 ,\n "a" : [ 1E5 , -0 , 12345678901234567890123 ] , "c" : "\\u00e9 \\/ é" } '
        assert check(spelled) == '{"b":1.50,"a":[1E5,-0,12345678901234567890123],"c":"\\u00e9 \\/ é"}'

    @pytest.mark.parametrize("zero", ["0", "-0", "0.0", "-0.0", "0.000000e+00", "0E-10"])
    def test_every_way_to_write_nothing_is_taken(self, zero: str) -> None:
        assert read(zero) == 0

    @pytest.mark.parametrize(
        "kept", ["5e-324", "1.7976931348623157e308", "9" * MOST_DIGITS, "-" + "9" * MOST_DIGITS], ids=short
    )
    def test_the_ends_of_the_range_of_numbers_are_taken(self, kept: str) -> None:
        assert check(kept) == kept
        assert math.isfinite(float(read(kept)))

    @pytest.mark.parametrize("raw", ['"\\\\u0000"', '"\\\\ud800"', '"\\ud83d\\ude00"', '"[[[" '])
    def test_what_only_looks_dangerous_is_taken(self, raw: str) -> None:
        assert read(raw) == json.loads(raw)

    def test_brackets_inside_strings_are_not_depth(self) -> None:
        assert read(json.dumps(["[{" * 100, '\\"' + "[" * 100])) == ["[{" * 100, '\\"' + "[" * 100]

    @pytest.mark.parametrize(
        ("raw", "code", "pointer"),
        [
            ("", "malformed-json", ""),
            ("  ", "malformed-json", ""),
            ('{"a": 1', "malformed-json", ""),
            ('{"a": 1} x', "malformed-json", ""),
            ("{'a': 1}", "malformed-json", ""),
            ("[1,]", "malformed-json", ""),
            ("01", "malformed-json", ""),
            ("+1", "malformed-json", ""),
            ("1.", "malformed-json", ""),
            ("\u0661", "malformed-json", ""),
            ('"a\tb"', "malformed-json", ""),
            ('"a\x00b"', "malformed-json", ""),
            ('"\\x41"', "malformed-json", ""),
            ("NaN", "malformed-json", ""),
            ('{"a": [Infinity]}', "malformed-json", ""),
            ("-Infinity", "malformed-json", ""),
            ("\ufeff{}", "malformed-json", ""),
            (b"\xef\xbb\xbf{}", "malformed-json", ""),
            (b'"\xff"', "malformed-json", ""),
            (b'"\xed\xa0\x80"', "malformed-json", ""),
            ('{"a": 1}'.encode("utf-16"), "malformed-json", ""),
            ('{"a": 1, "a": 1} x', "malformed-json", ""),
            ('{"a": 1, "a": NaN}', "malformed-json", ""),
            ('{"a": 1, "a": 1}', "duplicate-key", "/a"),
            ('{"a": 1, "\\u0061": 2}', "duplicate-key", "/a"),
            ('{"a": [0, {"b/c": {"~": 1, "~": 2}}]}', "duplicate-key", "/a/1/b~1c/~0"),
            ("1e400000", "number-range", ""),
            ('{"a": [0, -1e400000]}', "number-range", "/a/1"),
            ("1e-400", "number-range", ""),
            ("1e-400000", "number-range", ""),
            ("0e-400000", "number-range", ""),
            ("0." + "1" * 20_000, "number-range", ""),
            ('{"n": ' + "9" * 5_000 + "}", "number-range", "/n"),
            ("9" * (MOST_DIGITS + 1), "number-range", ""),
            ('"\\u0000"', "invalid-character", ""),
            ('{"a": ["ok", "x\\u0000"]}', "invalid-character", "/a/1"),
            ('{"a\\u0000": 1}', "invalid-character", "/a?"),
            ('"\\ud800"', "invalid-character", ""),
            ('{"a": {"\\uDFFF": 1}}', "invalid-character", "/a/?"),
            ('"\\ude00\\ud83d"', "invalid-character", ""),
            ('["\ud800"]', "invalid-character", ""),
        ],
        ids=short,
    )
    def test_what_is_refused_has_a_code_and_a_place(self, raw: str | bytes, code: str, pointer: str) -> None:
        for call in (read, check):
            error = refusal(call, raw)
            assert (error.code, error.pointer) == (code, pointer)

    def test_the_first_of_two_faults_is_told(self) -> None:
        assert refusal(read, '[{"a": 1, "a": 2}, 1e999]').pointer == "/0/a"


class TestLimits:
    def test_depth_is_taken_to_the_limit_and_not_beyond(self) -> None:
        assert read("[" * DEEPEST + "1" + "]" * DEEPEST)
        assert write(nested(DEEPEST)) == "[" * DEEPEST + "]" * DEEPEST
        assert refusal(read, "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1)).code == "too-deep"
        assert refusal(read, '{"a":' * (DEEPEST + 1) + "1" + "}" * (DEEPEST + 1)).code == "too-deep"
        assert refusal(write, nested(DEEPEST + 1)).code == "too-deep"

    def test_keys_are_taken_to_the_limit_and_not_beyond(self) -> None:
        most = {str(n): n for n in range(MOST_KEYS)}
        assert read(json.dumps(most)) == most
        assert json.loads(write(most)) == most
        most["more"] = 0
        assert refusal(read, json.dumps({"a": [most]})).pointer == "/a/0"
        assert refusal(read, json.dumps(most)).code == "too-many-keys"
        assert refusal(write, most).code == "too-many-keys"

    def test_size_is_counted_in_bytes_of_utf_8(self) -> None:
        assert check('"éé"', limit=6)
        assert check('"éé"'.encode(), limit=6)
        assert write("éé", limit=6)
        for raw in ('"éé"', '"éé"'.encode()):
            assert refusal(partial(check, limit=5), raw).code == "too-large"
            assert refusal(partial(read, limit=5), raw).code == "too-large"
        assert refusal(partial(write, limit=5), "éé").code == "too-large"

    def test_a_quarter_of_a_mebibyte_is_the_limit_where_none_is_given(self) -> None:
        assert check('"' + "x" * 262_142 + '"')
        assert refusal(check, '"' + "x" * 262_143 + '"').code == "too-large"

    @pytest.mark.parametrize(
        "raw",
        [
            "[" * 100_000 + "]" * 100_000,
            "[" * 100_000,
            '{"a":' * 40_000,
            "]" * 100 + "[" * 100 + '"' + '\\"' * 100_000,
            '["' + '\\"' * 100_000,
            "{" + ",".join(['"a":1'] * 40_000) + "}",
            "[" + "9" * 250_000 + "]",
            "[1e" + "9" * 250_000 + "]",
            "[" + '"\\u0000",' * 20_000 + "1]",
            "[" + "[]," * 80_000 + "NaN]",
        ],
        ids=short,
    )
    def test_a_hostile_document_is_refused_quickly(self, raw: str) -> None:
        before = time.process_time()
        refusal(read, raw)
        assert time.process_time() - before < 2


class TestWriting:
    @given(values)
    def test_what_is_written_is_read_back_the_same(self, value: Any) -> None:
        document = write(value)
        assert read(document) == value
        assert check(document) == document

    @pytest.mark.parametrize(
        ("value", "document"),
        [
            ({"b": 1, "a": (1, 2.5, None, True)}, '{"b":1,"a":[1,2.5,null,true]}'),
            (Point(1), '{"x":1,"label":null}'),
            ([Pair(Point(1, "é"), {"k": Colour.RED})], '[{"left":{"x":1,"label":"é"},"right":{"k":"red"}}]'),
            (datetime(2026, 1, 2, tzinfo=UTC), '"2026-01-02T00:00:00Z"'),
            ({"id": UUID(int=7)}, '{"id":"00000000-0000-0000-0000-000000000007"}'),
        ],
    )
    def test_python_values_have_one_plain_form(self, value: object, document: str) -> None:
        assert write(value) == document

    @pytest.mark.parametrize(
        ("value", "code", "pointer"),
        [
            (math.nan, "number-range", ""),
            ({"a": [1, math.inf]}, "number-range", "/a/1"),
            ([-math.inf], "number-range", "/0"),
            ({"a": 10**MOST_DIGITS}, "number-range", "/a"),
            ([-(10**5_000)], "number-range", "/0"),
            ({"a": {1: 2}}, "not-json", "/a"),
            ({None: 1}, "not-json", ""),
            ([object()], "not-json", "/0"),
            ({"a": b"bytes"}, "not-json", "/a"),
            ({"a": {1, 2}}, "not-json", "/a"),
            ({"a": Pair(1, object())}, "not-json", "/a/right"),
            ({"a": Pair(1, {2: 3})}, "not-json", "/a/right"),
            ({"a": Pair("ok", ["x\x00"])}, "invalid-character", "/a/right/0"),
            (["ok", "\ud800"], "invalid-character", "/1"),
            ({"a": {"\x00": 1}}, "invalid-character", "/a/?"),
        ],
    )
    def test_what_json_cannot_say_is_refused_with_its_place(
        self, value: object, code: str, pointer: str
    ) -> None:
        error = refusal(write, value)
        assert (error.code, error.pointer) == (code, pointer)

    def test_a_refusal_names_every_type_that_is_taken(self) -> None:
        taken: dict[str, object] = {
            "dict": {"a": 1},
            "list": [1],
            "tuple": (1,),
            "str": "a",
            "int": 1,
            "float": 1.5,
            "bool": True,
            "None": None,
            "enum": Colour.RED,
            "datetime": datetime(2026, 1, 2, tzinfo=UTC),
            "date": date(2026, 1, 2),
            "time": clock_time(1, 2),
            "timedelta": timedelta(1),
            "UUID": UUID(int=7),
            "Decimal": Decimal("1.5"),
            "dataclass": Pair(1, 2),
            "msgspec.Struct": Point(1),
        }
        for value in taken.values():
            write(value)
        words = refusal(write, object()).remedy.replace(",", " ").split()
        assert set(taken) <= set(words)

    def test_a_value_that_holds_itself_is_too_deep(self) -> None:
        loop: dict[str, Any] = {}
        loop["again"] = loop
        assert refusal(write, loop).code == "too-deep"
        assert refusal(write, [Pair(loop, 1)]).code == "too-deep"
        assert refusal(write, nested(100_000)).code == "too-deep"


class TestRefusals:
    def test_a_refusal_names_the_place_the_problem_and_the_way_out(self) -> None:
        error = refusal(read, '{"order": {"id": 1, "id": 2}}')
        assert str(error) == "/order/id: appears more than once in its object; send each key once"
        assert (error.field, error.remedy) == ("/order/id", "send each key once")

    def test_a_fault_of_the_whole_document_is_told_of_the_document(self) -> None:
        assert str(refusal(read, "[1,")).startswith(
            "document: is not JSON (Expecting value: line 1, column 4)"
        )

    @pytest.mark.parametrize("key", ["secret" * 1_000, "~" * 1_000, "\ud800" * 1_000], ids=short)
    def test_no_more_than_64_characters_of_what_was_sent_come_back(self, key: str) -> None:
        error = refusal(read, json.dumps({key: {"x": "\x00"}}))
        assert len(error.pointer) <= 64
        assert len(str(error)) <= 64 + 150
        str(error).encode()


class TestHash:
    @given(values)
    def test_white_space_and_order_do_not_change_the_hash(self, value: Any) -> None:
        shuffled = json.dumps(_reversed(value), indent=1)
        assert canonical_hash(check(shuffled)) == canonical_hash(write(value))

    @given(st.dictionaries(text, st.none() | st.booleans() | st.integers(-(10**40), 10**40) | text))
    def test_flat_documents_are_spelt_like_all_others(self, value: dict[str, Any]) -> None:
        """A faster encoder spells them, on which no hash may depend."""
        spelt = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        assert canonical_hash(write(value)) == blake2b(spelt.encode(), digest_size=16).digest()

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("1", "2"),
            ('"1"', "1"),
            ("[1,2]", "[2,1]"),
            ("{}", "[]"),
            ("null", "false"),
            ('{"a":1}', '{"b":1}'),
        ],
    )
    def test_other_values_have_another_hash(self, one: str, other: str) -> None:
        assert canonical_hash(check(one)) != canonical_hash(check(other))

    def test_large_integers_are_not_rounded_together(self) -> None:
        assert canonical_hash(Document(str(2**70))) != canonical_hash(Document(str(2**70 + 1)))

    def test_a_stored_hash_stays_what_it_was(self) -> None:
        """Hashes outlive releases: a new one here would make every stored key answer wrongly."""
        document = check('{"b": [1, 2.50, 1e21, "é"], "a": {"d": null, "c": true}}')
        assert canonical_hash(document).hex() == "7a785a96e99bb11ea86cf5f3659535b5"


@given(st.text(st.characters(), max_size=50))
@example("a\x00\ud800b")
def test_storable_text_can_always_be_written(anything: str) -> None:
    kept = storable(anything)
    assert len(kept) == len(anything)
    assert read(write(kept)) == kept


_texts = st.text(st.characters(), max_size=8).map(storable)
_reals = st.floats(allow_nan=False, allow_infinity=False)


@given(st.dictionaries(_texts, _texts | st.integers() | _reals | st.booleans() | st.none()))
@example({'"\\/\x7f\u2028': 'é"\\\n', "a": 2**63, "b": -(2**63), "c": 2**64, "d": 1e16, "e": True, "f": None})
def test_a_value_is_written_alike_by_either_encoder(params: dict[str, Any]) -> None:
    """Params are compared as they stand where a job has no hash: their spelling must be one and the same."""
    assert write(params) == json.dumps(params, ensure_ascii=False, separators=(",", ":"))


def _reversed(value: Any) -> Any:
    match value:
        case dict():
            return {key: _reversed(item) for key, item in reversed(value.items())}
        case list():
            return [_reversed(item) for item in value]
        case _:
            return value
