"""Over random records and schemas: nothing is lost, what fits stays, and the fast way is the exact one."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sources.json_rows.cases import RECORDS, SCHEMAS, fitting_records, mixed_records
from tests.sources.json_rows.oracle import assert_nothing_is_lost, settled_slowly, with_sorted_extra

from hakiri.sources.json_rows import (
    MixedTypes,
    RowsDoNotFit,
    SchemaSketch,
    infer_schema,
    json_text,
    needs_digits,
    parse_json,
    settle,
    settle_page,
)

Records = list[dict[str, Any]]
SCHEMAS_WITH_MIXED_RECORDS = SCHEMAS.flatmap(lambda schema: st.tuples(st.just(schema), mixed_records(schema)))
SCHEMAS_WITH_FITTING_RECORDS = SCHEMAS.flatmap(
    lambda schema: st.tuples(st.just(schema), fitting_records(schema))
)
ORDERLESS: tuple[MixedTypes, ...] = ("widen", "string")
EVERY_WAY: tuple[MixedTypes, ...] = (*ORDERLESS, "quarantine")


def in_any_order(schema: pa.Schema) -> str:
    """The schema's fields, at every height sorted by name."""

    def told(kind: pa.DataType) -> str:
        if pa.types.is_struct(kind):
            return f"{{{', '.join(sorted(f'{field.name!r}: {told(field.type)}' for field in kind))}}}"
        return f"[{told(kind.value_type)}]" if pa.types.is_list(kind) else str(kind)

    return told(pa.struct(list(schema)))


@given(SCHEMAS_WITH_MIXED_RECORDS)
def test_whole_columns_are_settled_as_single_values_are(case: tuple[pa.Schema, Records]) -> None:
    schema, records = case

    batch = settle(records, schema, with_extra=True)

    batch.validate(full=True)
    assert with_sorted_extra(batch).equals(settled_slowly(records, schema))


@given(SCHEMAS_WITH_MIXED_RECORDS)
def test_every_value_is_found_again_in_its_column_or_in_extra(case: tuple[pa.Schema, Records]) -> None:
    schema, records = case

    batch = settle(records, schema, with_extra=True)

    assert_nothing_is_lost(records, batch)


@given(SCHEMAS_WITH_MIXED_RECORDS)
def test_a_page_gives_what_its_records_give(case: tuple[pa.Schema, Records]) -> None:
    schema, records = case
    page = json_text({"data": {"items": records}}).encode()
    read_again = parse_json(page, keep_digits=needs_digits(schema))["data"]["items"]

    batch = settle_page(page, schema, record_path="data.items")

    assert batch.equals(settle(read_again, schema, with_extra=True))


@given(SCHEMAS_WITH_FITTING_RECORDS)
def test_what_fits_never_goes_to_extra(case: tuple[pa.Schema, Records]) -> None:
    schema, records = case

    batch = settle(records, schema, with_extra=True)

    assert batch["_extra"].null_count == len(records)
    assert settle(records, schema, with_extra=False).equals(batch.drop_columns(["_extra"]))


@given(SCHEMAS_WITH_MIXED_RECORDS)
def test_without_extra_rows_are_refused_exactly_when_extra_would_hold_something(
    case: tuple[pa.Schema, Records],
) -> None:
    schema, records = case
    with_extra = settle(records, schema, with_extra=True)

    if with_extra["_extra"].null_count == len(records):
        assert settle(records, schema, with_extra=False).num_rows == len(records)
    else:
        with pytest.raises(RowsDoNotFit) as refused:
            settle(records, schema, with_extra=False)
        assert refused.value.count == sum(
            len(parse_json(text.encode())) for text in with_extra["_extra"].to_pylist() if text
        )


@pytest.mark.parametrize("mixed", ORDERLESS)
@given(records=RECORDS)
def test_records_fit_the_schema_that_was_inferred_from_them(mixed: MixedTypes, records: Records) -> None:
    schema = infer_schema(records, mixed=mixed)

    batch = settle(records, schema, with_extra=True)

    assert batch["_extra"].null_count == len(records)
    assert_nothing_is_lost(records, batch)


@given(RECORDS)
def test_what_the_first_seen_type_does_not_fit_is_quarantined(records: Records) -> None:
    schema = infer_schema(records, mixed="quarantine")

    batch = settle(records, schema, with_extra=True)

    assert_nothing_is_lost(records, batch)


@pytest.mark.parametrize("mixed", ORDERLESS)
@given(records=RECORDS, seed=st.integers(0, 2**32))
def test_the_order_of_records_does_not_change_the_types(
    mixed: MixedTypes, records: Records, seed: int
) -> None:
    shuffled = random.Random(seed).sample(records, len(records))

    assert in_any_order(infer_schema(shuffled, mixed=mixed)) == in_any_order(
        infer_schema(records, mixed=mixed)
    )


@given(pages=st.lists(RECORDS, max_size=4))
def test_sketches_of_pages_joined_are_the_sketch_of_all_records(pages: list[Records]) -> None:
    together = SchemaSketch().add(record for page in pages for record in page)

    one_by_one, joined = SchemaSketch(), SchemaSketch()
    for page in pages:
        one_by_one = one_by_one.add(page)
        joined = joined.merge(SchemaSketch().add(page))

    assert one_by_one == joined == together
    for mixed in EVERY_WAY:
        assert joined.schema(mixed) == one_by_one.schema(mixed) == together.schema(mixed)


@pytest.mark.parametrize("mixed", EVERY_WAY)
@given(records=RECORDS)
def test_every_inferred_schema_can_be_written_to_parquet(mixed: MixedTypes, records: Records) -> None:
    batch = settle(records, infer_schema(records, mixed=mixed), with_extra=True)
    file = pa.BufferOutputStream()

    pq.write_table(pa.Table.from_batches([batch]), file)

    assert pq.read_table(pa.BufferReader(file.getvalue())).equals(pa.Table.from_batches([batch]))
