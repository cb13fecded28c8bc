"""The plan is the sandbox: what a compiled transform may hold, and everything else refused with its path."""

from hakiri.transforms.verify.errors import PlanRefused, Refusal
from hakiri.transforms.verify.plan import verify_plan
from hakiri.transforms.verify.reading import read_plan

__all__ = ["PlanRefused", "Refusal", "read_plan", "verify_plan"]
