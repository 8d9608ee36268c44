"""Edit tables and judges that are small enough to be worked out by hand."""

import json
import math

from btr.corpus.candidates import Candidates
from btr.corpus.edits import CandidateEdit, EditKey, EditTable
from btr.decisions.judge import Judge, Judges

PLAIN = {"log_ratio": 1.0, "base": 0.5}  # features of a judge that asks no reranker
RANKS = {"rank_posterior": 1.0, "base": 0.5}  # and of one that needs no log-probabilities


def make_table(source, texts, log_probs, *edits, flags=None):
    """Make a table; an edit is (start, end, correction, type, candidates), and the log-odds if there are any."""
    made = [CandidateEdit(EditKey(*edit[:3]), edit[3], tuple(edit[4]), *map(tuple, edit[5:])) for edit in edits]
    row = Candidates(source, tuple(texts), log_probs and tuple(log_probs), flags or {})
    return EditTable(row, tuple(range(len(texts))), tuple(made))


def make_judge(features, intercept=0.0, operations=None, types=None, fitted_on=("toy",)):
    return Judge(features, operations or {}, types or {}, intercept, tuple(fitted_on))


def make_judges(*features, rerankers=(), intercept=0.0, settled=(0.0, 1.0)):
    return Judges.make([make_judge(each, intercept) for each in features], rerankers, "judge:by-hand", settled)


def write_judge(path, *features, rerankers=(), intercept=0.0):
    """Write a file of judges with these features, in order of preference."""
    judges = [make_judge(each, intercept).to_dict() for each in features]
    path.write_text(json.dumps({"rerankers": list(rerankers), "judges": judges}))
    return path


def write_tables(path, tables, *kinds, **header):
    """Write a file of edit tables with log-odds of rerankers of these kinds."""
    names = [{"kind": kind, "signature": f"{kind}|version:1"} for kind in kinds]
    lines = [{"edits": True, "rerankers": names, **header}, *(table.to_dict() for table in tables)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


SURE, UNSURE = 1 / (1 + math.exp(-1.5)), 1 / (1 + math.exp(0.5))  # what the scripted corrector's judge says


def judged_corrector(engine=None, judge=None, cutoff=0.5, **options):
    """Return a corrector whose base model follows a script, and, if no other is given, a judge that asks no reranker.

    The base candidate is e times as probable as the source: the log-odds of its edits are 1 + 0.5. Of a noun's number
    they are 2 less.
    """
    from scripted import Scripted

    from btr.candidates.decoding import DecodingSettings
    from btr.correction.corrector import Corrector
    from btr.correction.judging import EditJudge
    from btr.decisions import Settings

    judges = Judges((make_judge(PLAIN, types={"R:NOUN:NUM": -2.0}),), (), "judge:by-hand")
    settings = Settings(cutoff=cutoff, drop_runaways=True)
    return Corrector(
        engine or Scripted(),
        DecodingSettings(size=2),
        settings=settings,
        judge=judge or EditJudge(judges),
        **options,
    )
