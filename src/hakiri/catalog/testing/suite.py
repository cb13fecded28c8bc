"""The whole suite in one class."""

from __future__ import annotations

from hakiri.catalog.testing.audit import AuditContract
from hakiri.catalog.testing.batch_claims import BatchClaimContract
from hakiri.catalog.testing.batch_commits import BatchCommitContract
from hakiri.catalog.testing.budgets import BudgetContract
from hakiri.catalog.testing.chunks import ChunkContract
from hakiri.catalog.testing.commits import CommitContract
from hakiri.catalog.testing.cursors import CursorAdoptionContract, CursorContract
from hakiri.catalog.testing.decisions import AppliedContract, DecisionContract
from hakiri.catalog.testing.files import FileContract, SelectionContract
from hakiri.catalog.testing.filling import FillContract
from hakiri.catalog.testing.garbage import GarbageContract
from hakiri.catalog.testing.gone_nodes import AbandonedRunContract, ReleaseContract
from hakiri.catalog.testing.landed import LandedContract, SupersedeIntoContract
from hakiri.catalog.testing.leases import LeaseContract
from hakiri.catalog.testing.lineage import LineageContract
from hakiri.catalog.testing.merging import MergeContract
from hakiri.catalog.testing.pipelines import PipelineContract
from hakiri.catalog.testing.push import PushContract
from hakiri.catalog.testing.queue import ClaimContract
from hakiri.catalog.testing.rereads import PlansTogetherContract, RereadContract
from hakiri.catalog.testing.revocations import RevocationContract
from hakiri.catalog.testing.runs import RunContract
from hakiri.catalog.testing.schemas import SchemaContract
from hakiri.catalog.testing.snapshots import SnapshotContract
from hakiri.catalog.testing.upkeep import UpkeepContract


class CatalogContract(
    PipelineContract,
    DecisionContract,
    AppliedContract,
    LeaseContract,
    RunContract,
    AbandonedRunContract,
    ReleaseContract,
    CursorContract,
    CursorAdoptionContract,
    MergeContract,
    ChunkContract,
    LandedContract,
    SupersedeIntoContract,
    RereadContract,
    PlansTogetherContract,
    ClaimContract,
    BatchClaimContract,
    CommitContract,
    BatchCommitContract,
    SchemaContract,
    LineageContract,
    SnapshotContract,
    GarbageContract,
    RevocationContract,
    FileContract,
    SelectionContract,
    PushContract,
    AuditContract,
    BudgetContract,
    UpkeepContract,
    FillContract,
):
    """Every promise of the contract. Subclass it, give the fixtures `opener` and `vandal`, and run it."""
