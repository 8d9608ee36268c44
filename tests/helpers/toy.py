"""A toy language that small models learn in seconds: verbs agree with their subjects, nouns with their numbers."""

import json
import random

import yaml

SUBJECTS = {"I": ("have", "go", "went"), "he": ("has", "goes", "went"), "she": ("has", "goes", "went")}
NOUNS = {"a": ("cat", "dog"), "two": ("cats", "dogs")}
OTHER = {"have": "has", "has": "have", "go": "goes", "goes": "go", "cat": "cats", "cats": "cat", "dog": "dogs"}
OTHER |= {"dogs": "dog", "went": "goes"}


def sentences(count, seed):
    """(source, gold, candidates): the candidates are gold, and gold with one or two words made wrong."""
    generator = random.Random(seed)
    for _ in range(count):
        subject, number = generator.choice(sorted(SUBJECTS)), generator.choice(sorted(NOUNS))
        verb, noun = generator.choice(SUBJECTS[subject]), generator.choice(NOUNS[number])
        if verb == "went":
            verb = SUBJECTS[subject][0]
        texts = [
            f"{subject} {first} {number} {second} ." for first in (verb, OTHER[verb]) for second in (noun, OTHER[noun])
        ]
        gold, others = texts[0], texts[1:]
        generator.shuffle(others)
        source = generator.choice(others)
        yield source, gold, [others[0], gold, *others[1:]]


def write(folder, count=400, seed=0, name="toy"):
    rows = list(sentences(count, seed))
    pairs, candidates = folder / f"{name}.tsv", folder / f"{name}.jsonl"
    pairs.write_text("".join(f"{source}\t{gold}\n" for source, gold, _ in rows))
    write_candidates(candidates, rows)
    return str(pairs), str(candidates)


def write_candidates(path, rows):
    records = ({"source": s, "candidates": c, "log_probs": [-0.5 * k for k in range(len(c))]} for s, _, c in rows)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def write_m2(path, rows):
    """Write the sources with the edits that make gold of them."""
    blocks = []
    for source, gold, _ in rows:
        words = enumerate(zip(source.split(), gold.split()))
        edits = [f"A {k} {k + 1}|||R:X|||{b}|||REQUIRED|||-NONE-|||0\n" for k, (a, b) in words if a != b]
        blocks.append(f"S {source}\n{''.join(edits)}\n")
    path.write_text("".join(blocks))


def write_edits(folder, count=400, seed=0, name="toy"):
    """Write an M2 file and the edit tables of its candidates; an edit is wrong in about half of the cases."""
    from judged import write_tables

    from btr.corpus.candidates import Candidates
    from btr.decisions.edit_table import extract_tables

    rows = list(sentences(count, seed))
    write_m2(folder / f"{name}.m2", rows)
    tables = extract_tables([Candidates(source, tuple(texts)) for source, _, texts in rows], processes=1)
    write_tables(folder / f"{name}.edits.jsonl", tables)
    return str(folder / f"{name}.m2"), str(folder / f"{name}.edits.jsonl")


def write_recipe(path, kind, model, pairs, candidates=None, **options):
    content = {
        "kind": kind,
        "model": str(model),
        "data": {"pairs": [pairs], **({"candidates": [candidates]} if candidates else {})},
        "optimizer": {"name": "adamw", "learning_rate": 0.003, "schedule": "linear", "warmup_steps": 20},
        "batch_tokens": 1024,
        "micro_tokens": 512,
        "dropout": 0.0,
        "epochs": 1,
        **options,
    }
    path.write_text(yaml.safe_dump(content))
    return path


def gold_first(reranker, rows):
    """Return how often a reranker ranks gold first, and the mean probability of what it ranks first."""
    from btr.corpus.candidates import Candidates
    from btr.decisions.decide import softmax

    scored = reranker.score([Candidates(source, tuple(texts)) for source, _, texts in rows])
    hits, total = 0, 0.0
    for (_, gold, texts), each in zip(rows, scored):
        (scores,) = each.scores
        best = max(range(len(texts)), key=lambda k: scores[k])
        hits += texts[best] == gold
        total += max(softmax(scores))
    return hits / len(rows), total / len(rows)
