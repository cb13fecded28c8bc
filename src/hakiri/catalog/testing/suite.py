"""The whole suite in one class."""

from __future__ import annotations

from hakiri.catalog.testing.chunks import ChunkContract
from hakiri.catalog.testing.commits import CommitContract
from hakiri.catalog.testing.cursors import CursorAdoptionContract, CursorContract
from hakiri.catalog.testing.files import FileContract, SelectionContract
from hakiri.catalog.testing.leases import LeaseContract
from hakiri.catalog.testing.lineage import LineageContract
from hakiri.catalog.testing.merging import MergeContract
from hakiri.catalog.testing.pipelines import PipelineContract
from hakiri.catalog.testing.push import PushContract
from hakiri.catalog.testing.queue import ClaimContract
from hakiri.catalog.testing.revocations import RevocationContract
from hakiri.catalog.testing.runs import RunContract
from hakiri.catalog.testing.schemas import SchemaContract
from hakiri.catalog.testing.snapshots import GarbageContract, SnapshotContract
from hakiri.catalog.testing.upkeep import UpkeepContract


class CatalogContract(
    PipelineContract,
    LeaseContract,
    RunContract,
    CursorContract,
    CursorAdoptionContract,
    MergeContract,
    ChunkContract,
    ClaimContract,
    CommitContract,
    SchemaContract,
    LineageContract,
    SnapshotContract,
    GarbageContract,
    RevocationContract,
    FileContract,
    SelectionContract,
    PushContract,
    UpkeepContract,
):
    """Every promise of the contract. Subclass it, give the fixtures `opener` and `vandal`, and run it."""
