"""The connector `rest`: any JSON API, from its config alone."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import ClassVar

from hakiri.core.backoff import Backoff
from hakiri.core.cursors import CursorKind
from hakiri.core.grammar import Rate
from hakiri.core.nearest import nearest
from hakiri.sources.config import SourceConfig
from hakiri.sources.contract import Batch, Connector, Context, Extent, Hint, Read, Table
from hakiri.sources.errors import PermanentFailure
from hakiri.sources.json_rows import SchemaSketch, declared_schema, needs_digits, settle_or_sift
from hakiri.sources.rest.answers import rate_told
from hakiri.sources.rest.batches import joined, one_ahead
from hakiri.sources.rest.client import BRIEF, PATIENT, Client
from hakiri.sources.rest.config import Resource, RestConfig
from hakiri.sources.rest.listing import Listing, Page, partition_query, wanted
from hakiri.sources.rest.reading import Reader
from hakiri.sources.rest.spans import bounds_of, params_of, span_of
from hakiri.sources.rest.tables import table_of

SAMPLE_RECORDS = 1_000
SAMPLE_PAGES = 5
# Of an API that may be called less often than this, no page is fetched ahead.
FEWEST_A_SECOND = 10.0


class RestConnector(Connector):
    """Reads the resources of one API as tables.

    A subclass for one service makes a RestConfig of its own config, and hands it up.
    """

    Config: ClassVar[type[SourceConfig]] = RestConfig
    summary = "any JSON API over HTTP, from configuration alone"
    # A batch has at least so many records, if there are more: fewer are not worth a file.
    batch_records: ClassVar[int] = 5_000
    config: RestConfig

    def __init__(self, config: RestConfig, context: Context) -> None:
        super().__init__(config, context)
        self._clients: list[Client] = []
        self._tables: dict[str, Table] = {}
        self._rates: dict[str, Rate] = {}
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        if self._client is None:
            self._client = self.new_client()
        return self._client

    def new_client(self, *, backoff: Backoff = PATIENT) -> Client:
        """Another way to the same API, closed with the connector."""
        self._clients.append(Client(self.config, self.context, backoff=backoff))
        return self._clients[-1]

    def discover(self, only: Collection[str] | None = None) -> Sequence[Table]:
        names = [resource.name for resource in self.config.resources] if only is None else only
        return tuple(self._table(self._resource(name)) for name in names)

    def open(self, read: Read) -> Iterator[Batch]:
        resource = self._resource(read.table)
        _refuse_other_fields(resource, read)
        schema = read.schema if read.schema is not None else self._table(resource).schema
        reader = Reader(
            listing=Listing(self.config, self.client), resource=resource, keep_digits=needs_digits(schema)
        )
        portions = reader.portions(read.cursor, read.window, read.partition)
        # Who wants few rows must not pay for a page that nobody reads; and where calls are rare, giving up a
        # read would mean to wait until the page ahead has had its turn.
        rate = self.config.rate_limit
        is_ahead = read.limit is None and (rate is None or rate.per_second >= FEWEST_A_SECOND)
        return joined(
            one_ahead(portions) if is_ahead else portions,
            partial(settle_or_sift, schema=schema, sets_aside=read.sets_aside),
            before=read.cursor or {},
            clock=self.context.clock,
            enough_records=self.batch_records,
            limit=read.limit,
        )

    def backfill_hint(self, table: str) -> Hint:
        """By the config. How often the API may be called, if that does not say, by what a sample told."""
        resource = self._resource(table)
        rate = self.config.rate_limit
        if rate is None and resource.infer:
            self._table(resource)
            rate = self._rates.get(table)
        incremental = resource.incremental
        if incremental is None or incremental.column is None:
            return Hint(cursor_kind=CursorKind.OPAQUE_TOKEN, rate_budget=rate)
        is_parted = bool(resource.partitions)
        return Hint(
            cursor_kind=CursorKind.PARTITIONED_MONOTONIC if is_parted else CursorKind.MONOTONIC,
            cursor_field=incremental.column,
            partition_keys=tuple(resource.partitions),
            natural_window=incremental.window,
            rate_budget=rate,
        )

    def partitions(self, table: str) -> Sequence[Mapping[str, str]]:
        resource = self._resource(table)
        key = resource.partition_key
        return ({},) if key is None else tuple({key: value} for value in resource.partitions[key])

    def extent(self, table: str, column: str) -> Extent:
        """Where the field that grows begins: by the config, or by the first page in its order."""
        resource = self._resource(table)
        incremental = resource.incremental
        if incremental is None or incremental.column != column:
            return Extent()
        if incremental.initial is not None:
            return Extent(lowest=incremental.initial)
        if incremental.order != "asc" or resource.parent is not None:
            return Extent()
        pages = [page for sample in self._samples(resource) for page in islice(sample, 1)]
        records = [record for page in pages for record in page.records]
        bounds = zip(bounds_of(resource, incremental, records), records, strict=True)
        known = [(bound, record[column]) for bound, record in bounds if bound is not None]
        return Extent(lowest=min(known)[1] if known else None)

    def check(self) -> str:
        resource = next(found for found in self.config.resources if found.parent is None)
        client = self.new_client(backoff=BRIEF)
        listing = Listing(self.config, client)
        query = partition_query(self.partitions(resource.name)[0])
        page = next(listing.pages(resource, query), None)
        count = len(page.records) if page is not None else 0
        return f"{self.config.base_url} answers: {count} records on the first page of `{resource.name}`"

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def _resource(self, name: str) -> Resource:
        found = self.config.resource(name)
        if found is None:
            known = [resource.name for resource in self.config.resources]
            meant = nearest(name, known)
            raise PermanentFailure(
                f"the source has no table `{name}`",
                hint=f"did you mean `{meant}`?" if meant else f"it has {', '.join(known)}",
            )
        return found

    def _table(self, resource: Resource) -> Table:
        if resource.name not in self._tables:
            self._tables[resource.name] = self._look_at(resource)
        return self._tables[resource.name]

    def _look_at(self, resource: Resource) -> Table:
        sketch = SchemaSketch()
        if resource.infer:
            count = 0
            for page in islice(chain.from_iterable(self._samples(resource)), SAMPLE_PAGES):
                if (rate := rate_told(page.headers)) is not None:
                    self._rates[resource.name] = rate
                records = wanted(resource, page.records)
                sketch = sketch.add(records)
                count += len(records)
                if count >= SAMPLE_RECORDS:
                    break
        return table_of(resource, sketch)

    def _samples(self, resource: Resource) -> Iterator[Iterator[Page]]:
        """The first pages of each partition, lazily."""
        listing = Listing(self.config, self.client)
        declared = needs_digits(declared_schema(resource.columns))
        params = {}
        if resource.incremental is not None:
            span = span_of(resource.incremental, {}, None)
            params = params_of(resource.incremental, span.asked_since, None)
        for partition in self.partitions(resource.name):
            query = partition_query(partition, params=params, keep_digits=declared)
            yield listing.pages(resource, query)


def _refuse_other_fields(resource: Resource, read: Read) -> None:
    """A read by a field that the API is not asked by would silently be a read of everything."""
    own = resource.incremental.column if resource.incremental is not None else None
    for field in (read.incremental, read.window.field if read.window is not None else None):
        if field not in {None, own}:
            raise PermanentFailure(
                f"`{resource.name}` cannot be read by `{field}`",
                hint=f"it is read by `{own}`" if own else 'write incremental = { field = "…" } in its config',
            )
