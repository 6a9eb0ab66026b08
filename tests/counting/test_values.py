"""Which declared value a raw value is: strict, the same for every kind of column."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whichdo.counting.books import CountBook, RangeBook, WeightBook
from whichdo.counting.values import (
    BAD,
    MISSING,
    ArmBook,
    Codebook,
    DomainBook,
    decode,
    text_at,
)
from whichdo.domains import NumberRange
from whichdo.problem import Problem

BINARY = DomainBook((0, 1))
LEVELS = DomainBook((0, 0.5, 2, 10**12))
WORDS = DomainBook(("1", "two", "0.5", "caf\u00e9", "01"))


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *((0, 0), (1, 1), (True, 1), (False, 0), (0.0, 0), (1.0, 1), (-0.0, 0), (Decimal("1.0"), 1)),
        *(("0", 0), ("1", 1), ("1.0", 1), ("0.0", 0), ("1e0", 1), ("true", 1), ("FALSE", 0), ("True", 1)),
        *((np.int64(1), 1), (np.bool_(True), 1), (np.float32(0), 0), (None, MISSING), (float("nan"), MISSING)),
        *((2, BAD), (-1, BAD), (0.5, BAD), (float("inf"), BAD), (b"1", BAD), ([1], BAD), (1j, BAD), ("", BAD)),
        *(("01", BAD), (" 1", BAD), ("1 ", BAD), ("+1", BAD), ("1_0", BAD), ("\uff11", BAD), ("1.", BAD), (".0", BAD)),
        *(
            ("NA", MISSING),
            ("nan", MISSING),
            ("na", BAD),
            ("yes", BAD),
            ("t", BAD),
            ("1e400", BAD),
            ("-0", 0),
            ("1" * 5000, BAD),
        ),
        (date(2024, 1, 1), BAD),
    ],
)
def test_binary(value: object, code: int) -> None:
    assert BINARY.code(value) == code


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("0.5", 1),
        ("5e-1", 1),
        (0.5, 1),
        ("2", 2),
        ("2.0", 2),
        (2.0, 2),
        (10**12, 3),
        ("1e12", 3),
        ("true", BAD),
        (1, BAD),
    ],
)
def test_numbers(value: object, code: int) -> None:
    assert LEVELS.code(value) == code


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *(("1", 0), (1, 0), (1.0, 0), ("1.0", BAD), ("two", 1), ("Two", BAD), (0.5, 2), ("0.50", BAD), ("01", 4)),
        *(("cafe\u0301", 3), ("caf\u00e9", 3), (True, BAD)),
    ],
)
def test_texts(value: object, code: int) -> None:
    """A text is compared as it is, but for the way its letters are composed."""
    assert WORDS.code(value) == code


def test_booleans_are_declared_texts_too() -> None:
    assert DomainBook(("False", "True")).code(True) == 1
    assert DomainBook(("no", "yes")).code(True) == BAD


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *((3, 3), ("3", 3), (3.0, 3), ("3.0", 3), ("1e3", 1000), (0, 0), (2**63 - 1, 2**63 - 1), (None, MISSING)),
        *((-1, BAD), (0.5, BAD), ("-1", BAD), ("x", BAD), (float("inf"), BAD), (2**63, BAD), (True, BAD), ("", BAD)),
    ],
)
def test_counts_of_rows(value: object, code: int) -> None:
    assert CountBook().code(value) == code


@pytest.mark.parametrize("value", [0, 0.0, -0.0, 0.25, "0.25", 3, 1e100, "1e-3", 2**63])
def test_a_weight_is_kept_as_its_bits(value: object) -> None:
    found = np.array([WeightBook().code(value)]).view(np.float64)
    assert found.tolist() == [abs(float(value))]  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, "x", "", float("inf"), True, "1_0", 1e101, 1e-101])
def test_what_is_no_weight_is_refused(value: object) -> None:
    assert WeightBook().code(value) == BAD


@pytest.mark.parametrize(("value", "level"), [(10, 0), (20, 255), ("15", 128), (10.01, 0), (9.99, BAD), ("z", BAD)])
def test_a_number_of_a_range_has_the_nearest_of_256_levels_or_its_bits(value: object, level: int) -> None:
    assert RangeBook(NumberRange(10, 20), exact=False).code(value) == level
    exact = RangeBook(NumberRange(10, 20), exact=True).code(value)
    if level == BAD:
        assert exact == BAD
    else:
        assert np.array([exact]).view(np.float64)[0] == pytest.approx((float(value) - 10) / 10)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("do()", 0),
        ("", 0),
        ("  ", 0),
        (None, 0),
        (float("nan"), 0),
        ("do(X=0)", 1),
        ("do( X = 1 )", 2),
        ("X=1", BAD),
        (1, BAD),
    ],
)
def test_arms(value: object, code: int) -> None:
    assert ArmBook(Problem("X -> Y", "Y")).code(value) == code


DAYS = DomainBook(("2024-01-01", "2024-01-02"))
MIDDAY = datetime.fromisoformat("2024-01-02 12:00:00")
MOMENTS = DomainBook(("2024-01-01 00:00:00", "2024-01-01", "12:30:00"))


@pytest.mark.parametrize(
    ("value", "code"),
    [
        *((date(2024, 1, 2), 1), (MIDDAY - timedelta(days=0.5), 1), (np.datetime64("2024-01-02"), 1)),
        *((np.datetime64("2024-01-02T00:00:00", unit), 1) for unit in ("h", "s", "ms", "us", "ns")),
        *((MIDDAY, BAD), (MIDDAY + timedelta(days=0.5), BAD), (datetime(2024, 1, 2, tzinfo=UTC), BAD)),
        *((np.datetime64("2024-01-02T12:00"), BAD), (np.datetime64("2024-01-02T00:00:00.000000001"), BAD)),
        *((np.datetime64("NaT"), MISSING), (np.timedelta64("NaT"), MISSING), (np.timedelta64(1, "ns"), BAD)),
        *((timedelta(1), BAD), (time(), BAD), ("2024-01-02 00:00:00", BAD), (np.datetime64("12024-01-02"), BAD)),
    ],
)
def test_midnight_is_a_date_where_dates_are_declared(value: object, code: int) -> None:
    assert DAYS.code(value) == code
    assert decode(DAYS, [value]).codes.tolist() == [max(code, 0)]


def test_a_moment_is_the_text_that_it_is_written_as() -> None:
    assert [MOMENTS.code(v) for v in (datetime.fromisoformat("2024-01-01"), date(2024, 1, 1), time(12, 30))] == [
        0,
        1,
        2,
    ]
    assert MOMENTS.code(np.datetime64("2024-01-01T00:00:00", "ns")) == 0
    assert DomainBook(("2024-01", "2024-02")).code(np.datetime64("2024-02")) == 1
    mixed = DomainBook(("2024-01-01", "never"))
    assert mixed.code(datetime.fromisoformat("2024-01-01")) == BAD


def test_no_moment_is_a_number() -> None:
    """Items of numpy's nanoseconds are plain whole numbers."""
    for value in (np.timedelta64(1, "ns"), np.datetime64(1, "ns")):
        assert BINARY.code(value) == BAD
        assert WeightBook().code(value) == BAD


def test_a_column_of_moments() -> None:
    column = np.array(["2024-01-02", "NaT", "2024-01-01", "2024-01-01T12:00"], "M8[ns]")
    for form in (column, list(column), pa.array(column)):
        found = decode(DAYS, form)
        assert found.missing is not None
        assert found.bad is not None
        assert (found.missing.tolist(), found.bad.tolist()) == (
            [False, True, False, False],
            [False, False, False, True],
        )
        assert found.codes[[0, 2]].tolist() == [1, 0]


def test_a_signalling_nan_is_a_fault() -> None:
    assert [BINARY.code(Decimal(text)) for text in ("sNaN", "NaN", "Infinity")] == [BAD, MISSING, BAD]


def test_a_book_without_allowed_values_is_no_book() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Codebook()  # type: ignore[abstract]


def forms(values: list[Any]) -> list[Any]:
    """The same values as each kind of column that can hold them."""
    found: list[Any] = [values, np.array(values, object)]
    kinds = set(map(type, values)) - {type(None)}
    if len(kinds) < 2:
        arrow = pa.array(values)
        found += [arrow, pa.chunked_array([arrow[:1], arrow[1:]]), arrow.slice(0)]
        found += [pa.concat_arrays([arrow[-1:], arrow])[1:]]
        if kinds != {bool} and len(values):
            found.append(arrow.dictionary_encode())
    if values and None not in values and len(kinds) == 1 and kinds <= {int, float, bool}:
        array = np.array(values)
        if array.dtype != object:
            found += [array, np.repeat(array, 2)[::2], array.astype(array.dtype.newbyteorder(">"))]
    return found


VALUES = st.one_of(
    st.lists(st.one_of(st.none(), st.integers(-3, 300))),
    st.lists(st.integers(-3, 2)),
    st.lists(st.one_of(st.none(), st.booleans())),
    st.lists(st.one_of(st.none(), st.sampled_from([0.0, 1.0, 0.5, 2.0, float("nan"), -1.0, 1e300]))),
    st.lists(st.sampled_from([0.0, 1.0, 2.0])),
    st.lists(st.one_of(st.none(), st.sampled_from(["0", "1", "2", "01", "two", "", "caf\u00e9", "true", "x" * 20]))),
    st.lists(st.sampled_from(["0", "1", "2"])),
    st.lists(st.one_of(st.none(), st.sampled_from([Decimal("1.0"), Decimal("0.5"), Decimal("7.0")]))),
)


@pytest.mark.slow("1 s: 300 examples; finds a value that changes its type")
@settings(deadline=None, max_examples=300)
@given(st.sampled_from([BINARY, LEVELS, WORDS, WeightBook(), ArmBook(Problem("X -> Y", "Y"))]), VALUES)
def test_every_kind_of_column_is_decoded_as_its_values_are(book: Any, values: list[Any]) -> None:
    expected = [book.code(value) for value in values]
    for column in forms(values):
        found = decode(book, column)
        for i, code in enumerate(expected):
            missing = found.missing is not None and bool(found.missing[i])
            bad = found.bad is not None and bool(found.bad[i])
            assert (missing, bad) == (code == MISSING, code == BAD), (column, i)
            if code >= 0:
                assert int(found.codes[i]) == code
        for mask in (found.missing, found.bad):
            assert mask is None or mask.any()


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("domain", [(0, 1), (1, 2, 3), (0, 1, 2), ("1", "2"), (-1, 1), tuple(range(256)), (0.5, 1)])
def test_integers_of_any_width(kind: str, domain: tuple[Any, ...]) -> None:
    limits = np.iinfo(kind)
    values = np.array([limits.min, limits.max, 0, 1, 2, 3, 127], kind)
    found = decode(DomainBook(domain), values)
    expected = [DomainBook(domain).code(int(value)) for value in values]
    for i, code in enumerate(expected):
        assert (found.bad is not None and bool(found.bad[i])) == (code == BAD)
        assert code == BAD or int(found.codes[i]) == code


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_floats_of_any_width(kind: str) -> None:
    found = decode(DomainBook((0, 0.1, 10**30)), np.array([0.1, 0, np.nan, 1, np.inf], kind))
    assert found.codes[:2].tolist() == [1, 0]
    assert found.missing is not None
    assert found.missing.tolist() == [False, False, True, False, False]
    assert found.bad is not None
    assert found.bad.tolist() == [False, False, False, True, True]


def test_an_integer_that_no_float_holds_is_not_met_by_its_neighbour() -> None:
    found = decode(DomainBook((2**53 + 1,)), np.array([2.0**53]))
    assert found.bad is not None


def test_what_stands_in_a_column_can_be_shown() -> None:
    class Rude:
        def __str__(self) -> str:
            raise RuntimeError

    assert text_at([Rude()], 0) == "a Rude"
    assert text_at(pa.array(["x"]), 0) == "x"
    assert text_at(np.array([2.5]), 0) == "2.5"
