from itertools import permutations

import pytest
import tiny
import torch
from hypothesis import given
from hypothesis import strategies as st

from btr.corpus.candidates import Candidates
from btr.models.load import load
from btr.rerankers.contrast import Contrast
from btr.rerankers.differences import NEAR, differing, differing_places, telling_places
from btr.rerankers.score import load_reranker

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
    assert differing(one, other) == expected
    assert differing(other, one) == expected[::-1]


def test_places_are_those_in_which_any_other_differs():
    assert differing_places([[5, 6, 7, END], [5, 9, 7, END], [5, 6, 8, END]]) == [[1, 2], [1, 2], [1, 2]]
    assert differing_places([[5, 6, END]]) == [[]]


def test_tokens_near_a_difference_tell_too():
    one, other = [*range(10, 20), END], [*range(10, 15), 99, *range(16, 20), END]
    assert NEAR == 2
    assert telling_places([one, other], NEAR) == [[3, 4, 5, 6, 7]] * 2
    assert telling_places([one, other], 0) == [[5]] * 2
    assert telling_places([[5, END], [6, END]], NEAR) == [[0, 1], [0, 1]]


@given(st.lists(st.lists(st.integers(3, 6), min_size=1, max_size=6), min_size=2, max_size=4))
def test_the_rest_is_common_to_all(candidates):
    """What is not asked about stands in all candidates, in the same order."""
    rest = [
        [token for k, token in enumerate(tokens) if k not in places]
        for tokens, places in zip(candidates, differing_places(candidates))
    ]
    for own in rest:
        for tokens in candidates:
            left = iter(tokens)
            assert all(token in left for token in own)


@pytest.mark.parametrize("budget", [1, 4096])
@pytest.mark.parametrize("style", ["v1.1", "v1.0", "mt5"])
def test_scores_are_those_of_the_librarys_forward_pass(tmp_path, style, budget):
    folder = tiny.save_t5(tmp_path, style, bidirectional=True)
    loaded = load("btr", folder)
    reranker = Contrast(loaded, budget)
    rows = [*ROWS, *(Candidates(row.source, row.candidates[::-1]) for row in ROWS)]
    looks = set()
    for row, scored in zip(rows, reranker.score_many(rows), strict=True):
        first = plainly(loaded, reranker.mask, row, 0)
        near = NEAR if max(first) > first[0] else 0
        looks.add(near)
        assert scored.means == pytest.approx(plainly(loaded, reranker.mask, row, near), abs=1e-4)
    assert looks == {0, NEAR}
    (alone,) = reranker.score_many(rows[:1])
    assert alone.means == pytest.approx(reranker.score_many(rows)[0].means, abs=1e-4)


def plainly(loaded, mask, row, near):
    """The sums over tokens that differ, and so many beside them, by the library's forward pass."""
    tokens = [loaded.tokenizer(text)["input_ids"] for text in row.candidates]
    source = torch.tensor([loaded.tokenizer(row.source)["input_ids"]])
    sums = []
    for own, places in zip(tokens, telling_places([[0, *ids] for ids in tokens], near), strict=True):
        sums.append(0.0)
        for place in (place - 1 for place in places if place):  # the start is no token to ask about
            masked = torch.tensor([[0, *own[:place], mask, *own[place + 1 :]]])
            with torch.no_grad():
                logits = loaded.model(input_ids=source, decoder_input_ids=masked, use_cache=False).logits[0]
            sums[-1] += float(logits.log_softmax(-1)[place, own[place]])
    return sums


def test_it_is_named_by_its_kind(tmp_path):
    folder = tiny.save_t5(tmp_path, bidirectional=True)
    reranker = load_reranker(f"contrast:{folder}")
    assert reranker.signature.startswith("contrast|model:")
    assert reranker.kind == "contrast"


def test_of_an_encoder_it_is_the_sum_of_its_own_scores_where_candidates_differ(tmp_path):
    folder = tiny.save_encoder(tmp_path, "bert")
    contrast, whole = load_reranker(f"contrast:{folder}"), load_reranker(f"roberta:{folder}")
    assert contrast.signature == whole.signature.replace("roberta", "contrast", 1) + "|near:0,2"
    one, other = "he goes a b c d e a b", "he went a b c d e a b"
    (every,) = whole.token_log_probs([Candidates("he go", (one, other))])
    ids = [contrast.encode_candidate("he go", text) for text in (one, other)]

    def sums(near):
        return [
            sum(value for value, (place, _) in zip(values, own.places, strict=True) if place in telling)
            for values, own, telling in zip(every, ids, telling_places([own.ids for own in ids], near), strict=True)
        ]

    assert sum(place in telling_places([own.ids for own in ids], NEAR)[0] for place, _ in ids[0].places) == 1 + 1 + NEAR
    first = sums(0)
    better = first.index(max(first))
    for order, near in (([better, 1 - better], 0), ([1 - better, better], NEAR)):
        found = contrast.score("he go", [(one, other)[k] for k in order]).means
        assert found == pytest.approx([sums(near)[k] for k in order], abs=1e-5)


def test_a_row_may_be_asked_for_another_token_at_the_second_look(tmp_path):
    """Where tokens are repeated, what one candidate asks beside its difference is what another asked in its own."""
    loaded = load("btr", tiny.save_t5(tmp_path, bidirectional=True))
    reranker = Contrast(loaded)
    texts = "a a b b", "a a b", "a b b b"
    moved = 0
    for order in permutations(texts):
        row = Candidates("a b", order)
        first = plainly(loaded, reranker.mask, row, 0)
        moved += max(first) > first[0]
        expected = plainly(loaded, reranker.mask, row, NEAR if max(first) > first[0] else 0)
        assert reranker.score_many([row])[0].means == pytest.approx(expected, abs=1e-4)
    assert moved


def test_what_is_too_long_is_not_scored(tmp_path):
    reranker = load_reranker(f"contrast:{tiny.save_t5(tmp_path, bidirectional=True)}")
    scored = reranker.score("he go", ["he goes", "he " * 600])
    assert scored.means[1] is None
    assert scored.means[0] is not None
