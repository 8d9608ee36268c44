"""How fast GLEU is: against one pass in pure Python a draw, as in the official script.

BTR_DATA=../shared/data python benchmarks/gleu.py [--json]
"""

import sys
import time
from pathlib import Path

import numpy as np
from common import Report, data_folder

from btr.corpus import read_lines
from btr.metrics.gleu import DRAWS, GLEU

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
import plain_gleu

PLAIN_DRAWS = 10  # enough to time


def main() -> None:
    report = Report("GLEU")
    folder = data_folder() / "jfleg-dev"
    source, hypotheses = (list(read_lines(folder / name)) for name in ("dev.src", "dev.spellchecked.src"))
    references = [list(read_lines(folder / f"dev.ref{k}")) for k in range(4)]

    start = time.process_time()
    plain = plain_gleu.gleu(source, hypotheses, references, PLAIN_DRAWS)
    naive = (time.process_time() - start) * DRAWS / PLAIN_DRAWS

    start = time.process_time()
    metric = GLEU(source, list(zip(*references)), processes=1)
    counts = metric.counts(hypotheses)
    draws = metric.draws(counts, np.arange(len(source))[None])[0]
    ours = time.process_time() - start
    assert np.allclose(draws[:PLAIN_DRAWS], plain, atol=1e-12)
    report.say(f"GLEU {100 * draws.mean():.2f}: one pass a draw {naive:.1f} s, ours {ours:.2f} s of CPU")
    report.ratio("pass_per_draw_over_ours", naive / ours)
    report.end()


if __name__ == "__main__":
    main()
