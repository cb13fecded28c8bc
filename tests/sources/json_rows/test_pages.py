from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from hakiri.sources.json_rows import BadJson, NoRecords, declared_schema, parse_json, records_at, settle_page

IDS = declared_schema({"id": "bigint"})


@pytest.mark.parametrize(
    ("body", "path", "ids"),
    [
        (b'[{"id":1},{"id":2}]', "", [1, 2]),
        (b'{"id":1}', "", [1]),
        (b"null", "", []),
        (b"[]", "", []),
        (b'{"data":{"items":[{"id":1}]},"next":2}', "data.items", [1]),
        (b'{"data":{"items":{"id":3}}}', "data.items", [3]),
        (b'{"data":{"items":null}}', "data.items", []),
        (b'{"a.b":{"c\\\\":[{"id":4}]}}', r"a\.b.c\\", [4]),
        (b'\xef\xbb\xbf[{"id":1}]', "", [1]),
    ],
)
def test_the_records_of_a_page_become_rows(body: bytes, path: str, ids: list[int]) -> None:
    batch = settle_page(body, IDS, record_path=path)

    assert batch["id"].to_pylist() == ids


@pytest.mark.parametrize(
    ("body", "path", "problem", "hint"),
    [
        (b'{"data":{"item":[]}}', "data.items", "there is no `data.items`", "did you mean `data.item`?"),
        (b'{"x":1}', "data", "there is no `data`", None),
        (b"[]", "data", "the document is a list, not an object", None),
        (b'{"data":null}', "data.items", "`data` is null, not an object", None),
        (b'{"data":"x"}', "data", "it is a text, not a list of objects", None),
        (b'{"data":1e400}', "data", "it is a number, not a list of objects", None),
        (b'{"data":[{},{},7]}', "data", "item 3 of the list is a number, not an object", None),
    ],
)
def test_a_path_that_leads_to_no_records_is_refused(
    body: bytes, path: str, problem: str, hint: str | None
) -> None:
    with pytest.raises(NoRecords) as refused:
        records_at(parse_json(body), path)

    assert str(refused.value) == f"there are no records at `{path}`: {problem}"
    assert refused.value.hint == (
        hint
        or "check the record path; it names the fields on the way to the list of records, as in `data.items`"
    )


def test_a_document_without_records_is_refused() -> None:
    with pytest.raises(NoRecords) as refused:
        records_at(True, "")

    assert str(refused.value) == (
        "there are no records in the document: it is true or false, not a list of objects"
    )


def test_a_page_that_was_cut_off_gives_no_rows() -> None:
    with pytest.raises(BadJson):
        settle_page(b'[{"id":1},{"id":2', IDS)


def test_a_wide_decimal_has_every_digit_of_the_page() -> None:
    schema = pa.schema([("amounts", pa.list_(pa.decimal128(38, 18)))])

    batch = settle_page(b'[{"amounts":[12345678901.123456789012345678,0.1,1e-18]}]', schema)

    assert batch["amounts"].to_pylist() == [
        [Decimal("12345678901.123456789012345678"), Decimal("0.1"), Decimal("1e-18")]
    ]


def test_a_whole_number_beyond_64_bits_is_no_float_in_extra() -> None:
    batch = settle_page(b'[{"id":123456789012345678901234567890}]', IDS)

    assert batch.to_pylist() == [{"id": None, "_extra": '{"id":123456789012345678901234567890}'}]
