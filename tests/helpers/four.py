"""Four sentences that can be scored by hand."""

import json

from btr.corpus.candidates import Candidates
from btr.corpus.scores import Scored

SENTENCES = [  # source, gold's edit, candidates, scores
    ("He go home .", "1 2|||X|||goes", ("He go home .", "He goes home ."), (-2.0, -0.5)),
    ("She like it .", "1 2|||X|||likes", ("She liked it .", "She likes it ."), (-1.0, -0.9)),
    ("I am here .", None, ("I am here .", "I was here ."), (-0.6, -0.5)),
    ("They is old .", "1 2|||X|||are", ("They are old .", "They is old ."), (-0.1, -3.0)),
]
ROWS = [Scored(Candidates(source, candidates), (scores,)) for source, _, candidates, scores in SENTENCES]
EQUAL = [Scored(row.candidates, ((-1.0, -1.0),)) for row in ROWS]


def write_gold(path):
    lines = ((source, edit or "-1 -1|||noop|||-NONE-") for source, edit, *_ in SENTENCES)
    path.write_text("".join(f"S {source}\nA {edit}|||REQUIRED|||-NONE-|||0\n\n" for source, edit in lines))
    return path


def write_scores(path, rows, *kinds, model=None):
    """Write a scores file of rerankers of these kinds; the signature of each is its kind and `|model:x`."""
    names = [{"kind": kind, "model": model, "signature": f"{kind}|model:x"} for kind in kinds]
    lines = [{"rerankers": names}, *(row.to_dict() for row in rows)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path
