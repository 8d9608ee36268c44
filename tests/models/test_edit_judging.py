"""Folders of models that judge edits: what loads as such a model, and what is refused in one sentence."""

from pathlib import Path

import pytest
import tiny
import torch
from judged import make_table
from safetensors.torch import load_file, save_file

import btr
from btr.errors import InputError
from btr.models.bidirectional import is_bidirectional
from btr.models.compact import expand_to
from btr.models.edit_head import mean_by_edit, mean_states
from btr.models.edit_judging import EditJudgingT5
from btr.models.initial import load_initial_model
from btr.models.load import load
from btr.rerankers import load_reranker

TABLE = make_table(
    "he go to mat .",
    ("he goes to the mat .", "he goes mat ."),
    None,
    (1, 2, "goes", "R:VERB:SVA", [0, 1]),
    (2, 3, "", "U:PREP", [1]),
    (3, 3, "the", "M:DET", [0]),
)


def log_odds(folder):
    return torch.tensor(load_reranker(f"edit-btr:{folder}").edit_log_odds([TABLE])[0])


def refusal(load, *arguments):
    with pytest.raises(InputError) as raised:
        load(*arguments)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_means_by_hand():
    states = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 0.0]])
    assert mean_states(states, [1, 2, 0], [3, 2, 1]).tolist() == [[4.0, 3.0], [0.0, 0.0], states[0].tolist()]
    assert mean_states(states, [2], [2]).tolist() == [[0.0, 0.0]]
    means = mean_by_edit(torch.tensor([1.0, 2.0, 4.0]), torch.tensor([2, 0, 2]), 4)
    assert means.tolist() == [2.0, 0.0, 2.5, 0.0]
    assert mean_by_edit(torch.zeros(0), torch.zeros(0, dtype=torch.long), 0).tolist() == []


def test_a_folder_loads_as_what_it_is(tmp_path):
    loaded = load("edit-btr", tiny.save_edit_btr(tmp_path))
    assert isinstance(loaded.model, EditJudgingT5)
    assert is_bidirectional(loaded.model)
    assert loaded.signature.startswith("edit-btr|model:")
    weights = load_file(tmp_path / "model.safetensors")
    assert torch.equal(loaded.model.edit_head.first.weight, weights["edit_head.first.weight"])


def test_a_btr_without_a_head_is_refused(tmp_path):
    folder = tiny.save_t5(tmp_path, bidirectional=True)
    expected = f"{folder}: has no weights for edit_head.first.bias, so it is not a trained edit-btr model."
    assert refusal(load, "edit-btr", folder) == expected


@pytest.mark.parametrize(
    ("save", "options", "message"),
    [
        (tiny.save_t5, {}, "writes left to right, so it is no BTR; train one from it, or score with l2r."),
        (tiny.save_t5, {"right_to_left": True}, "writes right to left, so it is no BTR"),
        (tiny.save_encoder, {}, "is a bert model, but edit-btr needs a T5."),
    ],
)
def test_models_of_other_kinds_are_refused(tmp_path, save, options, message):
    assert message in refusal(load, "edit-btr", save(tmp_path, **options))


@pytest.mark.parametrize("style", ["v1.1", "v1.0"])
@pytest.mark.parametrize("kind", ["btr", "contrast", "l2r", "r2l"])
def test_other_rerankers_refuse_it(tmp_path, kind, style):
    """It has no output layer: `transformers` would take the embeddings for one, and scores would be plausible."""
    folder = tiny.save_edit_btr(tmp_path, style)
    assert refusal(load_reranker, f"{kind}:{folder}") == f"{folder}: judges edits; name it as edit-btr:{folder}."


def test_it_writes_no_candidates(tmp_path):
    folder = tiny.save_edit_btr(tmp_path)
    assert refusal(load, "seq2seq", folder).startswith(f"{folder}: is a BTR; candidates are written by")


def test_no_other_kind_is_trained_from_it(tmp_path):
    folder = tiny.save_edit_btr(tmp_path)
    for kind, why in (("btr", "judges edits and has no output layer"), ("seq2seq", "is a BTR"), ("r2l", "is a BTR")):
        assert f"{folder}: {why}; {kind} is trained from " in refusal(load_initial_model, kind, folder, None, 0)


def test_training_starts_from_a_btr_a_t5_or_one_of_its_own(tmp_path):
    """The head of the first two is random, but the same for the same seed; the third keeps its own."""
    for save, options in ((tiny.save_t5, {"bidirectional": True}), (tiny.save_t5, {}), (tiny.save_edit_btr, {})):
        folder = save(tmp_path / f"{save.__name__}-{len(options)}", **options)
        first, same, other = (load_initial_model("edit-btr", folder, None, seed)[0] for seed in (1, 1, 2))
        assert is_bidirectional(first)
        assert torch.equal(first.shared.weight, load_file(f"{folder}/model.safetensors")["shared.weight"])
        heads = [model.edit_head.first.weight for model in (first, same, other)]
        assert torch.equal(heads[0], heads[1])
        assert torch.equal(heads[0], heads[2]) == (save is tiny.save_edit_btr)


def test_a_random_head_is_small(tmp_path):
    """As wide as the inputs are many: 4 × 32 of the first layer, 256 of the last; inputs and output are scaled by 8.

    T5's own standard deviation is 1.
    """
    from_btr, _ = load_initial_model("edit-btr", tiny.save_t5(tmp_path, bidirectional=True), None, 0)
    for model in (from_btr, EditJudgingT5(from_btr.config)):
        assert model.edit_head.first.weight.std().item() == pytest.approx(128**-0.5 / 8, rel=0.05)
        assert model.edit_head.last.weight.std().item() == pytest.approx(256**-0.5 / 8, rel=0.15)
        assert not model.edit_head.first.bias.any()
        assert not model.edit_head.last.bias.any()


def test_weights_that_training_needs(tmp_path):
    folder = Path(tiny.save_t5(tmp_path, bidirectional=True))
    weights = load_file(folder / "model.safetensors")
    del weights["decoder.final_layer_norm.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    message = refusal(load_initial_model, "edit-btr", str(folder), None, 0)
    assert message == f"{folder}: has no weights for decoder.final_layer_norm.weight; is it complete?"


def test_a_compact_copy_gives_nearly_the_same(tmp_path):
    """It is the model whose weights are int8 times scale, and far closer to the original than another model is."""
    shape = {"d_model": 64, "d_kv": 16, "d_ff": 80, "num_layers": 1}  # wide enough for int8
    plain, other = (tiny.save_edit_btr(tmp_path / str(seed), seed=seed, **shape) for seed in (0, 1))
    small = tmp_path / "compact"
    btr.compact(plain, small)
    names = set(load_file(small / "model.safetensors"))
    assert {"decoder.block.0.layer.0.SelfAttention.q.weight.int8", "edit_head.first.weight.int8"} <= names
    expand_to(small, str(small), tmp_path / "expanded")
    exact, rough, expanded, others = map(log_odds, (plain, small, tmp_path / "expanded", other))
    assert torch.equal(rough, expanded)
    assert 0 < (rough - exact).abs().mean() < 0.1 * (others - exact).abs().mean()


def test_bfloat16(tmp_path):
    folder = tiny.save_edit_btr(tmp_path)
    (rough,) = load_reranker(f"edit-btr:{folder}", dtype="bfloat16").edit_log_odds([TABLE])
    assert rough == pytest.approx(log_odds(folder).tolist(), abs=0.3)
    assert rough != log_odds(folder).tolist()
