"""Plans: where a runtime anticipates that each operation of a model will run, and why not elsewhere."""

from tracekit.mlmodels.plans.plan import Plan, PlanMessage, PlannedFunction, PlannedOperation, PlannedRegion
from tracekit.mlmodels.plans.plan_kinds import read_plan

__all__ = ["Plan", "PlanMessage", "PlannedFunction", "PlannedOperation", "PlannedRegion", "read_plan"]
