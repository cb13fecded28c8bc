"""A manifest says all about an attempt, in one text for one content."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.store.recording import Recording
from tests.store.workshop import NODE, ORDERS, PIPELINE, T0

from hakiri.catalog.contract.chunks import Replacement, Reread
from hakiri.catalog.contract.schemas import SchemaStep
from hakiri.core.cursors import CursorKind
from hakiri.core.ids import ChunkId, RunId, TableName
from hakiri.store.errors import UnreadableManifest
from hakiri.store.layout import StoreLayout
from hakiri.store.manifests import AttemptManifest, CommitFacts, Counts, WrittenFile, seal

MANIFEST = AttemptManifest(
    pipeline=PIPELINE,
    table=ORDERS,
    run=RunId("0196be00-1"),
    node=NODE,
    chunk=ChunkId(47),
    attempt=2,
    seq=1001,
    ingested_at=T0,
    predicate={"kind": "window", "since": "2026-05-01"},
    schema_version=3,
    schema_fingerprint="sha256:abc",
    primary_key=("id",),
    files=(WrittenFile(name="part-00000.parquet", rows=2, bytes=512, sha256="ff"),),
    quarantine=(WrittenFile(name="quarantine-00000.parquet", rows=1, bytes=300, sha256="ee"),),
    counts=Counts(read=4, filtered=1, written=2, quarantined=1),
    content_sum=255,
    pass_number=5,
    pass_size=2,
    ends_pass=True,
)
TEXT = (
    '{"attempt":2,"chunk":47,"content_sum":"000000000000000000000000000000ff",'
    '"counts":{"filtered":1,"quarantined":1,"read":4,"written":2},"ends_pass":true,'
    '"files":[{"bytes":512,"name":"part-00000.parquet","rows":2,"sha256":"ff"}],"format":1,'
    '"ingested_at":"2026-05-11T08:00:00.123456Z","node":"node-anna","pass":5,"pass_size":2,'
    '"pipeline":"shop","predicate":{"kind":"window","since":"2026-05-01"},"primary_key":["id"],'
    '"quarantine":[{"bytes":300,"name":"quarantine-00000.parquet","rows":1,"sha256":"ee"}],'
    '"run":"0196be00-1","schema_fingerprint":"sha256:abc","schema_version":3,"seq":1001,"table":"orders",'
    '"unchanged":false}\n'
)


COMMITTED = replace(
    MANIFEST,
    commit=CommitFacts(
        sealed_at=T0,
        cursor_kind=CursorKind.MONOTONIC,
        stream=TableName("orders#shop=a"),
        cursor='{"id":7}',
        moves_stream=True,
        reread=Reread(
            reason="RT-481",
            asked_at=T0,
            runs=(RunId("0196be00-0"),),
            replacement=Replacement(first=ChunkId(46), last=ChunkId(47), old=(ChunkId(3), ChunkId(4))),
        ),
        step=SchemaStep(
            table=ORDERS, based_on=2, change_kind="add_column", after='{"fields":[]}', primary_key=("id",)
        ),
    ),
)
COMMITTED_TEXT = TEXT.replace('"format":1', '"format":2').replace(
    '"content_sum"',
    '"commit":{"cursor":{"id":7},"cursor_kind":"monotonic","moves_stream":true,'
    '"reread":{"asked_at":"2026-05-11T08:00:00.123456Z","reason":"RT-481",'
    '"replacement":{"first":46,"last":47,"old":[3,4]},"runs":["0196be00-0"]},'
    '"schema_step":{"after":{"fields":[]},"change_kind":"add_column","decided_by":"auto","primary_key":["id"]},'
    '"sealed_at":"2026-05-11T08:00:00.123456Z","stream":"orders#shop=a"},"content_sum"',
)


def test_a_manifest_is_written_as_canonical_json() -> None:
    assert COMMITTED.text() == COMMITTED_TEXT


def test_one_of_the_first_format_is_still_read_and_tells_nothing_of_its_commit() -> None:
    assert AttemptManifest.parse(TEXT) == MANIFEST
    assert MANIFEST.commit is None


def test_a_manifest_comes_back_from_its_text() -> None:
    plain = replace(MANIFEST, pass_number=None, pass_size=None, primary_key=(), unchanged=True)
    facts = CommitFacts(sealed_at=T0, cursor_kind=CursorKind.OPAQUE_TOKEN, stream=ORDERS)

    assert AttemptManifest.parse(COMMITTED_TEXT) == COMMITTED
    assert AttemptManifest.parse(plain.text()) == plain
    assert AttemptManifest.parse(replace(plain, commit=facts).text()) == replace(plain, commit=facts)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "JSONDecodeError: "),
        ("[]", "TypeError: "),
        ("{}", "it has no 'format'"),
        (TEXT.replace('"format":1', '"format":3'), "its format is `3`, and 2 is known"),
        (TEXT.replace('"format":1', '"format":2'), "it has no 'commit'"),
        (COMMITTED_TEXT.replace('"cursor_kind":"monotonic"', '"cursor_kind":"?"'), "ValueError: "),
        (COMMITTED_TEXT.replace('"runs":["0196be00-0"]', '"runs":7'), "TypeError: "),
        (TEXT.replace('"seq":1001,', ""), "it has no 'seq'"),
        (TEXT.replace('"sha256":"ff"', '"md5":"ff"'), "TypeError: "),
        (TEXT.replace("2026-05-11T", "a monday "), "ValueError: "),
    ],
)
def test_a_text_that_is_no_manifest_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(UnreadableManifest) as caught:
        AttemptManifest.parse(text)

    assert str(caught.value).startswith(f"a manifest of the store cannot be read: {why}")


@pytest.mark.spec("HP-118")
def test_sealing_makes_the_manifest_and_all_folders_above_it_durable(tmp_path: Path) -> None:
    layout = StoreLayout(tmp_path)
    folder = tmp_path / MANIFEST.place
    folder.mkdir(parents=True)
    disk = Recording(tmp_path)

    seal(layout, [MANIFEST], disk)

    place = "tables/orders/data/runs/0196be00-1/node-anna/chunk-47/attempt-2"
    assert MANIFEST.place == place
    assert (folder / "_manifest.json").read_text() == TEXT
    assert disk.steps == [
        f"create {place}/._manifest.json.pending",
        f"write {place}/._manifest.json.pending",
        f"sync {place}/._manifest.json.pending",
        f"rename {place}/._manifest.json.pending {place}/_manifest.json",
        f"syncdir {place}",
        *(f"syncdir {parent}" for parent in Path(place).parents),
    ]


def test_the_later_of_two_manifests_of_an_attempt_stands(tmp_path: Path) -> None:
    layout = StoreLayout(tmp_path)
    seal(layout, [MANIFEST])
    later = replace(MANIFEST, schema_version=4)

    seal(layout, [later])

    text = (tmp_path / MANIFEST.place / "_manifest.json").read_text()
    assert json.loads(text)["schema_version"] == 4
