"""The blocks of docs/scaling.md: what two workers of Ray, `datasets` and Spark give is what one process gives."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

from btr import Corrector
from btr.corpus import read_lines

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "scaling.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
HOW = "pip install 'btr-gec[workers]'"
LINES = [line for line in read_lines(ROOT / "examples" / "source.txt") if line][:12]


def block_of(engine):
    """Return the block that imports an engine."""
    (block,) = (block for block in BLOCKS if f"import {engine}\n" in block or f"from {engine}" in block)
    return block


@pytest.fixture(scope="module")
def no_cache(tmp_path_factory):
    """An empty cache, so that there is no language model, which takes longer to load."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def expected(no_cache):
    """What one process gives for each line."""
    return dict(zip(LINES, (each.text for each in Corrector.from_pretrained(threads=1).correct_many(LINES))))


@pytest.fixture
def folder(tmp_path):
    """A folder like the repository's, in which a block runs."""
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "source.txt").write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return tmp_path


def run(folder, program, **environment):
    """Run a block in a process of its own; each call of `correct_many` notes its process."""
    note = (
        "import os\n"
        "from btr import Corrector\n"
        "def correct_many(self, texts, plain=Corrector.correct_many):\n"
        f"    open(os.path.join({str(folder)!r}, f'worker-{{os.getpid()}}'), 'w').close()\n"
        "    return plain(self, texts)\n"
        "Corrector.correct_many = correct_many\n"
    )
    site = folder / "site"
    site.mkdir()
    (site / "noting.py").write_text(note)
    (folder / "program.py").write_text(program.replace("from btr import", "import noting\nfrom btr import"))
    path = os.pathsep.join(filter(None, (str(site), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "program.py"], cwd=folder, capture_output=True, text=True, timeout=400,
        env={**os.environ, "PYTHONPATH": path, "OMP_WAIT_POLICY": "passive", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert len(list(folder.glob("worker-*"))) == 2


def read_rows(paths, text="text"):
    """Return the corrected text of each text, in files of JSON lines."""
    rows = [json.loads(line) for path in paths for line in path.read_text(encoding="utf-8").splitlines()]
    return {row[text]: row["corrected"] for row in rows}


def test_blocks_are_short():
    assert len(BLOCKS) == 3
    assert all(len(block.splitlines()) < 20 for block in BLOCKS)


def test_something_is_corrected(expected):
    assert sum(text != corrected for text, corrected in expected.items()) > 3


def test_ray(folder, expected):
    pytest.importorskip("ray", reason=f"needs ray: {HOW}")
    start = "import ray\nray.init(num_cpus=3, include_dashboard=False, object_store_memory=2**28)\n"
    block = block_of("ray").replace("    def __init__(self):\n", "    def __init__(self):\n        import noting\n")
    block = block.replace("batch_size=256", "batch_size=2")  # else one worker gets all of these few lines
    run(folder, f"{start}{block}\nray.shutdown()\n", RAY_USAGE_STATS_ENABLED="0")
    assert read_rows((folder / "corrected").glob("*.json")) == expected


def test_datasets(folder, expected):
    run(folder, block_of("datasets"), HF_DATASETS_CACHE=str(folder / "cache"))
    assert read_rows([folder / "corrected.jsonl"]) == expected


def test_spark(folder, expected):
    pytest.importorskip("pyspark", reason=f"needs pyspark: {HOW}")
    if not (os.environ.get("JAVA_HOME") or shutil.which("java")):
        pytest.skip("Spark needs Java 17 or newer")
    program = block_of("pyspark").replace("    corrector = Cor", "    import noting\n    corrector = Cor")
    run(folder, program, PYSPARK_SUBMIT_ARGS="--master local[2] pyspark-shell", PYSPARK_PYTHON=sys.executable)
    assert read_rows((folder / "corrected").glob("part-*.json"), "value") == expected


def test_the_function_for_spark_corrects_every_batch(expected):
    """Without Spark and Java: the block's function, given what Spark gives."""
    definition = re.search(r"^def correct.*?\n\n", block_of("pyspark"), re.DOTALL | re.MULTILINE)[0]
    names = {"Corrector": Corrector}
    exec(definition, names)
    batches = [pandas.DataFrame({"value": LINES[start : start + 5]}) for start in range(0, len(LINES), 5)]
    done = list(names["correct"](iter(batches)))
    assert [list(batch.columns) for batch in done] == [["value", "corrected"]] * 3
    assert {text: corrected for batch in done for text, corrected in batch.itertuples(index=False)} == expected
