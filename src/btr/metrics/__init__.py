"""Metrics: counts per sentence, aggregated into corpus scores, with signatures and significance.

A metric is a subclass of `Metric` that is registered by name. Another distribution adds one with an entry point of the
group `btr.metrics`.
"""

from btr.metrics.base import Metric
from btr.registry import Registry

METRICS: Registry[type[Metric]] = Registry(
    "btr.metrics",
    {
        "m2": "btr.metrics.m2:M2",
        "errant": "btr.metrics.errant:Errant",
        "cleme": "btr.metrics.cleme:CLEME",
        "gleu": "btr.metrics.gleu:GLEU",
        "unchanged": "btr.metrics.unchanged:Unchanged",
    },
)
