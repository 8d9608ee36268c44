from itertools import permutations

import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st

from btr.corpus.candidates import Candidates
from btr.models.load import load
from btr.rerankers import load_reranker
from btr.rerankers.contrast import ContrastBTR
from btr.rerankers.differences import NEIGHBOURS, differing_between, differing_tokens, informative_tokens

END = 1
ROWS = [
    Candidates("I has two cat .", ("I have two cats .", "I have two cat .", "I has cat .", "I have two cats .")),
    Candidates("he go", ("he goes",)),
    Candidates("he go", ("he goes", "he went on")),
]


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([5, 6, 7, END], [5, 6, 7, END], (set(), set())),
        ([5, 9, 7, END], [5, 6, 7, END], ({1}, {1})),  # another word
        ([5, 6, 9, 7, END], [5, 6, 7, END], ({2}, {1, 2})),  # a word too many; the other lacks it between these
        ([7, END], [6, 7, END], ({0}, {0})),  # … at the start
        ([9, 8, END], [5, 6, END], ({0, 1}, {0, 1})),
    ],
)
def test_where_candidates_differ(one, other, expected):
    assert differing_between(one, other) == expected
    assert differing_between(other, one) == expected[::-1]


def test_tokens_in_which_any_other_candidate_differs():
    assert differing_tokens([[5, 6, 7, END], [5, 9, 7, END], [5, 6, 8, END]]) == [[1, 2], [1, 2], [1, 2]]
    assert differing_tokens([[5, 6, END]]) == [[]]


def test_neighbours_of_a_difference_are_informative_too():
    one, other = [*range(10, 20), END], [*range(10, 15), 99, *range(16, 20), END]
    assert NEIGHBOURS == 2
    assert informative_tokens([one, other], NEIGHBOURS) == [[3, 4, 5, 6, 7]] * 2
    assert informative_tokens([one, other], 0) == [[5]] * 2
    assert informative_tokens([[5, END], [6, END]], NEIGHBOURS) == [[0, 1], [0, 1]]


@given(st.lists(st.lists(st.integers(3, 6), min_size=1, max_size=6), min_size=2, max_size=4))
def test_the_rest_is_common_to_all(candidates):
    """The tokens that are not scored stand in all candidates, in the same order."""
    rest = [
        [token for k, token in enumerate(tokens) if k not in indices]
        for tokens, indices in zip(candidates, differing_tokens(candidates))
    ]
    for common in rest:
        for tokens in candidates:
            remaining = iter(tokens)
            assert all(token in remaining for token in common)


@pytest.mark.parametrize("budget", [1, 4096])
@pytest.mark.parametrize("style", ["v1.1", "v1.0", "mt5"])
def test_scores_are_those_of_the_librarys_forward_pass(tmp_path, style, budget):
    folder = tiny.save_t5(tmp_path, style, bidirectional=True)
    loaded = load("btr", folder)
    reranker = ContrastBTR(loaded, budget)
    rows = [*ROWS, *(Candidates(row.source, row.texts[::-1]) for row in ROWS)]
    tried = set()
    for row, scores in zip(rows, reranker.scores(rows), strict=True):
        first = plainly(loaded, reranker.mask, row, 0)
        neighbours = NEIGHBOURS if max(first) > first[0] else 0
        tried.add(neighbours)
        assert scores == pytest.approx(plainly(loaded, reranker.mask, row, neighbours), abs=1e-4)
    assert tried == {0, NEIGHBOURS}
    (alone,) = reranker.scores(rows[:1])
    assert alone == pytest.approx(reranker.scores(rows)[0], abs=1e-4)


def plainly(loaded, mask, row, neighbours):
    """Return the sums over tokens that differ, and their neighbours, by the library's forward pass."""
    tokens = [loaded.tokenizer(text)["input_ids"] for text in row.texts]
    source = torch.tensor([loaded.tokenizer(row.source)["input_ids"]])
    sums = []
    informative = informative_tokens([[0, *ids] for ids in tokens], neighbours)
    for ids, indices in zip(tokens, informative, strict=True):
        sums.append(0.0)
        for k in (index - 1 for index in indices if index):  # the start is no token to score
            masked = torch.tensor([[0, *ids[:k], mask, *ids[k + 1 :]]])
            with torch.no_grad():
                logits = loaded.model(input_ids=source, decoder_input_ids=masked, use_cache=False).logits[0]
            sums[-1] += float(logits.log_softmax(-1)[k, ids[k]])
    return sums


def test_it_is_named_by_its_kind(tmp_path):
    folder = tiny.save_t5(tmp_path, bidirectional=True)
    reranker = load_reranker(f"contrast:{folder}")
    assert reranker.signature.startswith("contrast|model:")
    assert reranker.kind == "contrast"


def test_with_an_encoder_it_is_the_sum_of_its_scores_where_candidates_differ(tmp_path):
    folder = tiny.save_encoder(tmp_path, "bert")
    contrast, whole = load_reranker(f"contrast:{folder}"), load_reranker(f"roberta:{folder}")
    assert contrast.signature == whole.signature.replace("roberta", "contrast", 1) + "|neighbours:0,2"
    texts = "he goes a b c d e a b", "he went a b c d e a b"
    (every,) = whole.token_log_probs([Candidates("he go", texts)])
    encoded = [contrast.encode_candidate("he go", text) for text in texts]

    def chosen(neighbours):
        return informative_tokens([candidate.ids for candidate in encoded], neighbours)

    def sums(neighbours):
        return [
            sum(value for value, (index, _) in zip(values, candidate.positions, strict=True) if index in indices)
            for values, candidate, indices in zip(every, encoded, chosen(neighbours), strict=True)
        ]

    assert sum(index in chosen(NEIGHBOURS)[0] for index, _ in encoded[0].positions) == 1 + 1 + NEIGHBOURS
    first = sums(0)
    better = first.index(max(first))
    for order, neighbours in (([better, 1 - better], 0), ([1 - better, better], NEIGHBOURS)):
        (scores,) = contrast.scores([Candidates("he go", tuple(texts[k] for k in order))])
        assert scores == pytest.approx([sums(neighbours)[k] for k in order], abs=1e-5)


def test_a_row_may_score_another_token_the_second_time(tmp_path):
    """Where tokens repeat, a neighbour of one candidate's difference may be in the row of another's difference."""
    loaded = load("btr", tiny.save_t5(tmp_path, bidirectional=True))
    reranker = ContrastBTR(loaded)
    texts = "a a b b", "a a b", "a b b b"
    moved = 0
    for order in permutations(texts):
        row = Candidates("a b", order)
        first = plainly(loaded, reranker.mask, row, 0)
        moved += max(first) > first[0]
        expected = plainly(loaded, reranker.mask, row, NEIGHBOURS if max(first) > first[0] else 0)
        assert reranker.scores([row])[0] == pytest.approx(expected, abs=1e-4)
    assert moved


def test_what_is_too_long_is_not_scored(tmp_path):
    reranker = load_reranker(f"contrast:{tiny.save_t5(tmp_path, bidirectional=True)}")
    ((score, too_long),) = reranker.scores([Candidates("he go", ("he goes", "he " * 600))])
    assert too_long is None
    assert score is not None
