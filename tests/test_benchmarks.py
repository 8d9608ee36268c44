"""Benchmarks run, and print one JSON object of named ratios. Times are never asserted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "ratios"),
    [
        (
            "m2",
            {
                "official_cpu_over_ours",
                "growth_natural_200_to_400",
                "growth_worst_200_to_400",
                "growth_dense_gold_200_to_400",
            },
        ),
        ("gleu", {"pass_per_draw_over_ours"}),
        (
            "generate --layers 1 --sources 4",
            {
                f"ctranslate2_{name}"
                for name in ("float32", "float32_over_same_batches", "int8", "int8_over_same_batches")
            },
        ),
        ("train --layers 1 --sources 2", {"btr_objective"}),
        ("correct --sentences 8 --plain 1", {"correct", "reranking_over_generation"}),
        ("serve --seconds 4 --clients 4", {"batched_over_one_at_a_time"}),
        ("pll --layers 1 --sources 2", {"fp32", "fp32_2_sources", "int8", "int8_2_sources"}),
    ],
)
def test_ratios(data, name, ratios):
    script, *options = name.split()
    command = [sys.executable, f"benchmarks/{script}.py", *options, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    printed = json.loads(done.stdout)
    assert set(printed) == ratios
    assert all(isinstance(value, float) and value > 0 for value in printed.values())
