"""Diverse beam search against one that is written out plainly."""

import plain_diverse
import pytest
import torch

from btr.candidates.decoding import DecodingSettings
from btr.candidates.diverse import diverse_beam_search

END, START = 1, 0


def run(models, search):
    """The real search on toy models, one for each source, with rows as a decoder would have them."""
    prefixes = []

    def step(rows, tokens):
        nonlocal prefixes
        if not prefixes:
            prefixes = [() for _ in rows]
            assert tokens.tolist() == [START] * len(rows)
        else:
            prefixes = [(*prefixes[row], token) for row, token in zip(rows.tolist(), tokens.tolist())]
        return torch.tensor(
            [models[k // search.size](prefix) for k, prefix in enumerate(prefixes)], dtype=torch.float64
        ).float()

    return diverse_beam_search(step, len(models), [END], START, search)


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize(("beams", "groups"), [(4, 1), (4, 2), (4, 4), (6, 3), (5, 5), (1, 1)])
def test_equals_the_plain_search(beams, groups, early):
    models = [plain_diverse.toy(seed, 14) for seed in range(12)]
    search = DecodingSettings("diverse", beams, max_length=6, groups=groups, penalty=0.4, early_stopping=early)
    expected = [plain_diverse.search(model, END, beams, groups, 0.4, 6, early) for model in models]
    assert run(models, search) == expected


def test_worked_out_by_hand():
    """Tokens: 0 padding, 1 end, 2, 3. The first group takes 2; the second pays 0.4 for it, and so takes 3."""
    first = [-9.0, -9.0, -0.6, -0.9]
    then = [-9.0, -0.1, -3.0, -3.0]
    model = lambda prefix: first if not prefix else then  # noqa: E731
    search = DecodingSettings("diverse", 2, max_length=2, groups=2, penalty=0.4)
    assert run([model], search) == [[[2, 1], [3, 1]]]
    same = DecodingSettings("diverse", 2, max_length=2, groups=2, penalty=0.2)
    assert run([model], same) == [[[2, 1], [2, 1]]]  # -0.6 - 0.2 is still more than -0.9; then 1, though it is paid for


def test_groups_differ_more_than_beams():
    models = [plain_diverse.toy(seed, 14) for seed in range(20)]
    starts = {
        groups: sum(
            len({tokens[0] for tokens in candidates})
            for candidates in run(models, DecodingSettings("diverse", 4, 6, groups, 5.0))
        )
        for groups in (1, 4)
    }
    assert starts[4] > starts[1]
