"""Rules about models, as data: what leaves the Neural Engine, or gives wrong numbers there, and who found it.

``match_rules`` holds them against operations, ``match_message`` finds the rule of a plan's message.
"""

from __future__ import annotations

from tracekit.mlmodels.rules.match import RuleMatch, match_message, match_rules
from tracekit.mlmodels.rules.model_rules_file import load_rules
from tracekit.mlmodels.rules.rule import Claim, ModelRule

__all__ = ["Claim", "ModelRule", "RuleMatch", "load_rules", "match_message", "match_rules"]
