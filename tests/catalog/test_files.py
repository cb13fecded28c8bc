"""Details of scanned files on SQL databases; the promises are in the conformance suite."""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from itertools import product

import pytest
from tests.support.databases import T0

from hakiri.catalog.contract.files import (
    FileQuery,
    KnownFile,
    ScannedFile,
    ScanTally,
    extension_of,
    file_id,
)
from hakiri.catalog.errors import UnstorableText
from hakiri.catalog.sql.database import Database
from hakiri.catalog.sql.files import FILES_A_STATEMENT, SqlFiles

MINUTE = timedelta(minutes=1)
MANY = 100_000


@pytest.fixture
def files(database: Database) -> SqlFiles:
    return SqlFiles(database)


def a_file(path: str = "a/b.hl7", **parts: object) -> ScannedFile:
    file = ScannedFile(source="archive", path=path, size=10, modified_at=T0, content_hash="sha256:1")
    return replace(file, **parts)  # type: ignore[arg-type]


def known(files: SqlFiles, path: str = "a/b.hl7") -> KnownFile:
    file = files.get(file_id("archive", path))
    assert file is not None
    return file


def test_the_id_of_a_file_is_a_hash_of_source_and_path() -> None:
    assert file_id("archive", "a/ü.hl7") == hashlib.sha256("archive\0a/ü.hl7".encode()).hexdigest()[:32]


def test_the_border_between_source_and_path_counts_for_the_id() -> None:
    assert file_id("a", "b/c") != file_id("ab", "/c")


@pytest.mark.parametrize(
    ("path", "extension"),
    [
        ("a/b.HL7", ".hl7"),
        ("b.tar.gz", ".gz"),
        ("a.d/README", ""),
        (".profile", ""),
        ("a/.profile", ""),
        ("odd.", ""),
        ("a/.env.local", ".local"),
        ("ÄÖ.ÄÖ", ".äö"),
        ("", ""),
    ],
)
def test_an_extension_is_the_last_suffix_in_lower_case(path: str, extension: str) -> None:
    assert extension_of(path) == extension


@pytest.mark.spec("CF-001")
def test_a_file_is_read_as_it_was_scanned(files: SqlFiles) -> None:
    scanned = a_file(
        "ä/«b».HL7",
        modified_at=datetime(2026, 3, 1, 2, 3, 4, 567891, tzinfo=timezone(timedelta(hours=-5))),
        fields='{"patient":  1}',
    )

    files.note([scanned], ["raw", "ü"], T0)

    assert known(files, "ä/«b».HL7") == KnownFile(
        file=file_id("archive", "ä/«b».HL7"),
        source="archive",
        path="ä/«b».HL7",
        ext=".hl7",
        size=10,
        modified_at=scanned.modified_at,
        content_hash="sha256:1",
        fields='{"patient":  1}',
        tags=frozenset({"raw", "ü"}),
        first_seen=T0,
        last_seen=T0,
        gone_at=None,
    )


@pytest.mark.spec("CF-003")
@pytest.mark.parametrize(
    "change",
    [{"size": 11}, {"modified_at": T0 + timedelta(microseconds=1)}, {"content_hash": "sha256:2"}],
    ids=["size", "time", "hash"],
)
def test_another_size_time_or_hash_makes_a_file_changed(files: SqlFiles, change: dict[str, object]) -> None:
    files.note([a_file()], ["raw"], T0)

    tally = files.note([a_file(**change)], [], T0 + MINUTE)

    assert tally == ScanTally(changed=1)
    assert known(files).first_seen == T0
    assert known(files).last_seen == T0 + MINUTE
    assert known(files).tags == {"raw"}
    assert {name: getattr(known(files), name) for name in change} == change


def test_other_fields_are_kept_and_make_no_changed_file(files: SqlFiles) -> None:
    files.note([a_file()], [], T0)

    assert files.note([a_file(fields='{"a":1}')], [], T0) == ScanTally(unchanged=1)

    assert known(files).fields == '{"a":1}'


def test_a_hash_that_a_later_scan_took_is_learnt(files: SqlFiles) -> None:
    files.note([a_file(content_hash=None)], [], T0)

    assert files.note([a_file()], [], T0) == ScanTally(unchanged=1)

    assert known(files).content_hash == "sha256:1"


def test_a_changed_file_does_not_keep_the_hash_of_before(files: SqlFiles) -> None:
    files.note([a_file()], [], T0)

    assert files.note([a_file(size=11, content_hash=None)], [], T0) == ScanTally(changed=1)

    assert known(files).content_hash is None


def test_a_file_that_one_scan_gives_twice_is_the_last_one_and_counted_once(files: SqlFiles) -> None:
    assert files.note([a_file(size=1), a_file(size=2)], ["raw"], T0) == ScanTally(added=1)

    assert known(files).size == 2


def test_an_empty_scan_notes_nothing(files: SqlFiles) -> None:
    assert files.note([], ["raw"], T0) == ScanTally()


def test_a_scan_by_a_clock_that_is_behind_does_not_take_back_when_a_file_was_seen(files: SqlFiles) -> None:
    files.note([a_file("same"), a_file("changed")], [], T0)

    files.note([a_file("same"), a_file("changed", size=11)], [], T0 - MINUTE)

    assert known(files, "same").last_seen == known(files, "changed").last_seen == T0
    assert files.mark_gone("archive", T0, T0) == 0


@pytest.mark.spec("CF-003")
def test_a_file_that_comes_back_has_its_id_and_its_past(files: SqlFiles) -> None:
    files.note([a_file("same"), a_file("changed")], ["raw"], T0)
    assert files.mark_gone("archive", T0 + MINUTE, T0 + MINUTE) == 2

    tally = files.note([a_file("same"), a_file("changed", size=11)], [], T0 + 2 * MINUTE)

    assert tally == ScanTally(changed=1, unchanged=1)
    for path in ("same", "changed"):
        assert known(files, path).gone_at is None
        assert known(files, path).first_seen == T0
        assert known(files, path).tags == {"raw"}
    assert len(files.find(FileQuery())) == 2


def test_a_file_that_was_seen_at_that_very_moment_is_not_gone(files: SqlFiles) -> None:
    files.note([a_file()], [], T0)

    assert files.mark_gone("archive", T0, T0 + MINUTE) == 0


def test_marking_again_keeps_when_a_file_was_gone(files: SqlFiles) -> None:
    files.note([a_file()], [], T0)
    files.mark_gone("archive", T0 + MINUTE, T0 + MINUTE)

    assert files.mark_gone("archive", T0 + 2 * MINUTE, T0 + 2 * MINUTE) == 0

    assert known(files).gone_at == T0 + MINUTE


@pytest.mark.parametrize("path", ["a\0b", "half \ud800"])
def test_a_path_that_no_database_can_keep_is_refused_with_its_whole_scan(files: SqlFiles, path: str) -> None:
    with pytest.raises(UnstorableText):
        files.note([a_file(), a_file(path)], [], T0)

    assert files.find(FileQuery()) == ()


@pytest.mark.parametrize("ext", ["hl7", ".hl7", "HL7", ".Hl7"])
def test_an_extension_is_found_in_any_case_with_or_without_its_dot(files: SqlFiles, ext: str) -> None:
    files.note([a_file("a.hl7"), a_file("b.HL7"), a_file("c.hl"), a_file("hl7")], [], T0)

    assert {file.path for file in files.find(FileQuery(ext=ext))} == {"a.hl7", "b.HL7"}


@pytest.mark.parametrize("ext", ["", "."])
def test_no_extension_finds_files_without_one(files: SqlFiles, ext: str) -> None:
    files.note([a_file("a.hl7"), a_file("README")], [], T0)

    assert [file.path for file in files.find(FileQuery(ext=ext))] == ["README"]


@pytest.mark.spec("CF-005")
@pytest.mark.parametrize("limit", [1, 1000], ids=["walking by id", "sorting by time"])
def test_every_combination_of_filters_finds_what_holds_for_all_of_them(files: SqlFiles, limit: int) -> None:
    tags = {"archive": ["raw"], "share": ["raw", "late"]}
    scanned = [
        a_file(f"{minute}{ext}", source=source, modified_at=T0 + minute * MINUTE)
        for source, ext, minute in product(tags, (".hl7", ".csv"), range(6))
    ]
    for known_source, given in tags.items():
        files.note([file for file in scanned if file.source == known_source], given, T0)
    files.note([a_file("gone.hl7")], ["raw"], T0 - MINUTE)
    files.mark_gone("archive", T0, T0)

    for source, tag, ext, start, end in product(
        (None, "archive", "share", "none"), (None, "raw", "late", "none"), (None, "hl7"), (None, 2), (None, 4)
    ):
        query = FileQuery(
            source=source,
            tag=tag,
            ext=ext,
            modified_from=None if start is None else T0 + start * MINUTE,
            modified_before=None if end is None else T0 + end * MINUTE,
        )
        expected = sorted(
            file_id(file.source, file.path)
            for file in scanned
            if source in (None, file.source)
            and (tag is None or tag in tags[file.source])
            and (ext is None or file.path.endswith(".hl7"))
            and (query.modified_from is None or file.modified_at >= query.modified_from)
            and (query.modified_before is None or file.modified_at < query.modified_before)
        )
        assert walked(files, query, limit) == expected


def walked(files: SqlFiles, query: FileQuery, limit: int) -> list[str]:
    """The ids of all files, page by page."""
    found: list[KnownFile] = []
    while page := files.find(query, after=found[-1].file if found else None, limit=limit):
        assert len(page) <= limit
        found += page
    return [file.file for file in found]


def test_more_files_than_go_into_one_statement_are_all_noted(files: SqlFiles) -> None:
    scanned = [a_file(f"{number}") for number in range(FILES_A_STATEMENT + 1)]

    assert files.note(scanned, ["raw"], T0) == ScanTally(added=len(scanned))
    assert files.note(scanned, ["raw"], T0 + MINUTE) == ScanTally(unchanged=len(scanned))

    assert files.mark_gone("archive", T0 + MINUTE, T0 + MINUTE) == 0
    assert len(walked(files, FileQuery(tag="raw"), FILES_A_STATEMENT)) == len(scanned)


@pytest.mark.proof
@pytest.mark.timeout(240)
@pytest.mark.spec("CF-010")
def test_a_hundred_thousand_files_are_noted_in_seconds_and_the_newest_found_at_once(files: SqlFiles) -> None:
    scanned = [a_file(f"{n % 100}/{n}.hl7", modified_at=T0 + n * MINUTE) for n in range(MANY)]
    rescanned = [replace(file, size=11) if n % 2 else file for n, file in enumerate(scanned)]
    newest = FileQuery(source="archive", tag="raw", modified_from=T0 + (MANY - 10) * MINUTE)

    seconds = []
    for work in (
        lambda: files.note(scanned, ["raw"], T0),
        lambda: files.note(rescanned, ["raw"], T0 + MINUTE),
        *(3 * [lambda: [files.find(newest) for _ in range(10)]]),
    ):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)

    assert len(files.find(newest)) == 10
    assert seconds[0] < 60, "a few seconds alone; other tests may have most of the machine"
    assert seconds[1] < 60, "a few seconds alone; other tests may have most of the machine"
    assert min(seconds[2:]) < 1, "ten times, each in milliseconds"
