"""Files that were scanned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from operator import itemgetter

from hakiri.catalog.contract.files import FileQuery, KnownFile, ScannedFile, ScanTally, extension_of, file_id
from hakiri.catalog.sql.counters import count_on
from hakiri.catalog.sql.database import Database, Row, Transaction, listed, moment, moment_or_none, parts_of
from hakiri.core.ids import FileId

FILES_A_STATEMENT = 10_000
# Up to so many pages are sorted anew for each of them; beyond that, walking by id is cheaper in all.
MOST_PAGES_SORTED = 4
_EVER = (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
_COLUMNS = (
    "file_id",
    "source",
    "path",
    "ext",
    "size",
    "modified_at",
    "content_hash",
    "fields",
    "first_seen",
    "last_seen",
    "gone_at",
)


class SqlFiles:
    """See the contract."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, files: Iterable[ScannedFile], tags: Iterable[str], now: datetime) -> ScanTally:
        # By id, so that each part goes to a few pages of the indexes.
        seen = dict(
            sorted({file_id(file.source, file.path): file for file in files}.items(), key=itemgetter(0))
        )
        labels = sorted(set(tags))

        def work(tx: Transaction) -> ScanTally:
            # In order, so that two scans of the same sources wait for each other and not crosswise.
            for source in sorted({file.source for file in seen.values()}):
                _lock_source(tx, source)
            tallies = [
                _note(tx, dict(part), labels, now) for part in parts_of(seen.items(), FILES_A_STATEMENT)
            ]
            if len(seen) >= FILES_A_STATEMENT:
                tx.run("learn_files")
            return ScanTally(
                added=sum(tally.added for tally in tallies),
                changed=sum(tally.changed for tally in tallies),
                unchanged=sum(tally.unchanged for tally in tallies),
            )

        return self._database.write(work) if seen else ScanTally()

    def mark_gone(self, source: str, not_seen_since: datetime, now: datetime) -> int:
        def work(tx: Transaction) -> int:
            _lock_source(tx, source)
            return tx.run("mark_gone", source=source, not_seen_since=not_seen_since, now=now)

        return self._database.write(work)

    def find(
        self, query: FileQuery, *, after: FileId | None = None, limit: int = 1000
    ) -> tuple[KnownFile, ...]:
        values = {
            "source": query.source,
            "tag": query.tag,
            "ext": None if query.ext is None else _wanted_extension(query.ext),
            "modified_from": query.modified_from or _EVER[0],
            "modified_before": query.modified_before or _EVER[1],
            "after": after or "",
            "limit": limit,
            "enough": limit * MOST_PAGES_SORTED + 1,
        }

        def work(tx: Transaction) -> tuple[KnownFile, ...]:
            return _with_tags(tx, tx.all(_best_way(tx, query, values), **values))

        return self._database.read(work)

    def get(self, file: FileId) -> KnownFile | None:
        def work(tx: Transaction) -> KnownFile | None:
            return next(iter(_with_tags(tx, tx.all("file", file=file))), None)

        return self._database.read(work)


def _lock_source(tx: Transaction, source: str) -> None:
    """Let no other scan of the source write until the end."""
    count_on(tx, f"scan:{source}")


def _note(
    tx: Transaction, seen: Mapping[FileId, ScannedFile], tags: Iterable[str], now: datetime
) -> ScanTally:
    files = _listed(seen)
    known = {FileId(row["file_id"]): row for row in tx.all("known_files", files=files)}
    same = {file for file, row in known.items() if _is_same(row, seen[file])}
    told = {file for file in same if _tells_nothing(known[file], seen[file])}
    # What is known of a file is written anew as a whole: one way for new and changed files, and many at once.
    written = [file for file in seen if file not in told]
    if known.keys() - told:
        tx.run("drop_files", files=_listed(known.keys() - told))
    if written:
        rows = (_row(file, seen[file], known.get(file), now, is_same=file in same) for file in written)
        tx.fill("scout_files", _COLUMNS, rows)
    if told:
        tx.run("see_files", files=_listed(told), now=now)
    for tag in tags:
        tx.run("tag_files", tag=tag, files=files)
    return ScanTally(added=len(seen) - len(known), changed=len(known) - len(same), unchanged=len(same))


def _is_same(known: Row, file: ScannedFile) -> bool:
    """Whether a file is as it was, as far as both scans looked."""
    return (
        known["size"] == file.size
        and moment(known["modified_at"]) == file.modified_at
        and (None in (known["content_hash"], file.content_hash) or known["content_hash"] == file.content_hash)
    )


def _tells_nothing(known: Row, same: ScannedFile) -> bool:
    """Whether a scan of a file that is as it was brought nothing that is not known."""
    return known["fields"] == same.fields and same.content_hash in (None, known["content_hash"])


def _row(
    file: FileId, scanned: ScannedFile, known: Row | None, now: datetime, *, is_same: bool
) -> tuple[object, ...]:
    first_seen = last_seen = now
    content_hash = scanned.content_hash
    if known is not None:
        first_seen, last_seen = moment(known["first_seen"]), max(moment(known["last_seen"]), now)
        content_hash = content_hash or (known["content_hash"] if is_same else None)
    return (
        file,
        scanned.source,
        scanned.path,
        extension_of(scanned.path),
        scanned.size,
        scanned.modified_at,
        content_hash,
        scanned.fields,
        first_seen,
        last_seen,
        None,
    )


def _wanted_extension(ext: str) -> str:
    bare = ext.removeprefix(".").lower()
    return f".{bare}" if bare else ""


def _best_way(tx: Transaction, query: FileQuery, values: Mapping[str, object]) -> str:
    """The statement that finds the files with the least effort over all pages."""
    if query.source is not None and (query.modified_from or query.modified_before):
        count = tx.one("files_in_time", **values)
        if count is not None and count["files"] < values["enough"]:
            return "find_files_in_time"
    return "find_files" if query.tag is None else "find_files_with_tag"


def _with_tags(tx: Transaction, rows: list[Row]) -> tuple[KnownFile, ...]:
    tags: dict[str, set[str]] = {row["file_id"]: set() for row in rows}
    if rows:
        for tagged in tx.all("tags_of_files", files=_listed(tags)):
            tags[tagged["file_id"]].add(tagged["tag"])
    return tuple(_known(row, frozenset(tags[row["file_id"]])) for row in rows)


def _known(row: Row, tags: frozenset[str]) -> KnownFile:
    return KnownFile(
        file=FileId(row["file_id"]),
        source=row["source"],
        path=row["path"],
        ext=row["ext"],
        size=row["size"],
        modified_at=moment(row["modified_at"]),
        content_hash=row["content_hash"],
        fields=row["fields"],
        tags=tags,
        first_seen=moment(row["first_seen"]),
        last_seen=moment(row["last_seen"]),
        gone_at=moment_or_none(row["gone_at"]),
    )


def _listed(files: Iterable[str]) -> str:
    return listed("file", ((file,) for file in files))
