"""Plans: where a runtime anticipates that each operation of a model will run, and why not elsewhere."""

from tracekit.mlmodels.plans.kinds import read_plan
from tracekit.mlmodels.plans.plan import Plan, PlanMessage, PlannedFunction, PlannedOperation, PlannedRegion

__all__ = ["Plan", "PlanMessage", "PlannedFunction", "PlannedOperation", "PlannedRegion", "read_plan"]
