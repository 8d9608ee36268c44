"""From scores to a text: settings, the paper's rule, tuning and cross-validation. Nothing here needs torch."""

from btr.decisions.decide import Choice, Decision, Verdict, competing, decide
from btr.decisions.settings import Settings

__all__ = ["Choice", "Decision", "Settings", "Verdict", "competing", "decide"]
