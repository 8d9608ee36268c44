"""Both engines: equal to `generate` of `transformers`, and to each other."""

import random

import plain_diverse
import pytest
import tiny
import torch
from transformers import AutoModelForSeq2SeqLM, BartConfig, BartForConditionalGeneration

from btr.candidates.ctranslate2_engine import BATCH, WIDTH_STEP, CTranslate2Engine, group_by_width
from btr.candidates.decoding import DecodingSettings
from btr.candidates.generate import check_engine, generate_many
from btr.candidates.transformers_engine import TransformersEngine
from btr.errors import InputError
from btr.models.convert import convert
from btr.models.load import load

STYLES = {"v1.1": 3, "v1.0": 3, "mt5": 4}  # with seeds for which some candidates end by themselves


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {style: tiny.save_t5(folder / style, style, seed=seed) for style, seed in STYLES.items()}


def some_sources(count=12):
    generator = random.Random(1)
    return [" ".join(generator.choices(tiny.WORDS, k=generator.randrange(1, 10))) for _ in range(count)]


def tokens_of(hypotheses):
    return [[each.tokens for each in row] for row in hypotheses]


def cut(row):
    row = row[1:]
    return row[: row.index(1) + 1] if 1 in row else row


@pytest.mark.parametrize(("early", "power"), [(False, 1.0), (True, 1.0), (False, 0.0), (True, 2.0)])
@pytest.mark.parametrize("style", STYLES)
def test_beam_search_is_that_of_generate(folders, style, early, power):
    """Batched through our call, and one source at a time through that of `transformers`."""
    engine = TransformersEngine(load("seq2seq", folders[style]))
    plain = AutoModelForSeq2SeqLM.from_pretrained(folders[style]).eval()
    sources = engine.encode(some_sources())
    decoding = DecodingSettings(size=4, max_length=9, early_stopping=early, length_penalty=power)
    tokens = tokens_of(engine.generate(sources, decoding))
    options = {"num_beams": 4, "num_return_sequences": 4, "max_new_tokens": 9, "early_stopping": early}
    for source, each in zip(sources, tokens):
        out = plain.generate(torch.tensor([source]), **options, length_penalty=power)
        assert each == [cut(row) for row in out.tolist()]
    assert any(len(row) < 9 for each in tokens for row in each)  # some end by themselves


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("style", STYLES)
def test_one_group_is_beam_search(folders, style, early):
    engine = TransformersEngine(load("seq2seq", folders[style]))
    sources = engine.encode(some_sources())
    for power in (0.0, 1.0):
        beam = DecodingSettings(size=4, max_length=9, early_stopping=early, length_penalty=power)
        one = DecodingSettings("diverse", size=4, max_length=9, groups=1, early_stopping=early, length_penalty=power)
        assert engine.generate(sources, one) == engine.generate(sources, beam)


@pytest.mark.parametrize(("beams", "groups"), [(4, 2), (6, 3), (5, 5)])
def test_groups_of_a_real_model(folders, beams, groups):
    """The cache follows the beams: what the plain search finds with a forward pass for each prefix."""
    engine = TransformersEngine(load("seq2seq", folders["v1.1"]))
    sources = engine.encode(some_sources(4))
    tokens = tokens_of(engine.generate(sources, DecodingSettings("diverse", beams, max_length=5, groups=groups)))
    for source, each in zip(sources, tokens):

        def next_log_probs(prefix, source=source):
            out = engine.model(input_ids=torch.tensor([source]), decoder_input_ids=torch.tensor([[0, *prefix]]))
            return out.logits[0, -1].log_softmax(-1).tolist()

        assert each == plain_diverse.search(next_log_probs, 1, beams, groups, 0.4, 5)


@pytest.mark.parametrize("style", STYLES)
def test_ctranslate2_finds_the_same(folders, style):
    engine, converted = (
        TransformersEngine(load("seq2seq", folders[style])),
        CTranslate2Engine(folders[style], "float32"),
    )
    sources = engine.encode(some_sources())
    for longest, power in ((3, 1.0), (9, 0.0), (9, 1.0)):
        decoding = DecodingSettings(size=4, max_length=longest, early_stopping=True, length_penalty=power)
        hypotheses = converted.generate(sources, decoding)
        assert tokens_of(hypotheses) == tokens_of(engine.generate(sources, decoding))
    pairs = [
        (source, each) for source, row in zip(sources, hypotheses) for each in row if engine.is_complete(each.tokens)
    ]
    forced = engine.log_probs([source for source, _ in pairs], [each.tokens for _, each in pairs])
    assert [each.log_prob for _, each in pairs] == pytest.approx(forced, abs=1e-4)
    again = converted.log_probs([source for source, _ in pairs], [each.tokens for _, each in pairs])
    assert again == pytest.approx(forced, abs=1e-4)


@pytest.mark.parametrize("style", STYLES)
def test_log_probs_are_the_librarys_loss(folders, style):
    engine = TransformersEngine(load("seq2seq", folders[style]))
    sources, targets = engine.encode(some_sources(8)), engine.encode(reversed(some_sources(8)))
    plain = [
        -float(engine.model(input_ids=torch.tensor([s]), labels=torch.tensor([t])).loss) * len(t)
        for s, t in zip(sources, targets)
    ]
    assert engine.log_probs(sources, targets) == pytest.approx(plain, abs=1e-4)


@pytest.mark.parametrize("method", ["top-k", "nucleus"])
def test_a_seed_makes_samples_repeatable(folders, method):
    engine = TransformersEngine(load("seq2seq", folders["v1.1"]))
    sources = engine.encode(some_sources())
    first = engine.generate(sources, DecodingSettings(method, size=3, seed=7))
    torch.rand(5)
    assert engine.generate(sources, DecodingSettings(method, size=3, seed=7)) == first
    assert engine.generate(sources, DecodingSettings(method, size=3, seed=8)) != first
    assert [len(row) for row in first] == [3] * 12


def test_samples_stay_within_k_and_p(folders):
    engine = TransformersEngine(load("seq2seq", folders["v1.1"]))
    source = engine.encode(["the cat sat on the mat ."])
    states = engine.model(input_ids=torch.tensor(source), decoder_input_ids=torch.tensor([[0]]))
    share = states.logits[0, 0].softmax(-1).sort(descending=True)
    for decoding, allowed in (
        (DecodingSettings("top-k", size=200, max_length=1, top_k=3), 3),
        (DecodingSettings("nucleus", size=200, max_length=1, top_p=0.5), int((share.values.cumsum(0) < 0.5).sum()) + 1),
    ):
        drawn = {each.tokens[0] for each in engine.generate(source, decoding)[0]}
        assert drawn <= set(share.indices[:allowed].tolist())
        assert len(drawn) > 1 or allowed == 1


def test_other_seq2seq_models(tmp_path):
    """A BART writes through `transformers`; its settings for beams and penalties don't count, its forced token does."""
    tokenizer = tiny.t5_tokenizer()
    shape = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}
    heads = {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    ends = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 3, "decoder_start_token_id": 1}
    config = BartConfig(**shape, **heads, **ends, vocab_size=len(tokenizer), max_position_embeddings=64)
    model = tiny.randomise(BartForConditionalGeneration(config))
    model.generation_config.forced_bos_token_id = 3
    model.generation_config.num_beams = 2
    model.generation_config.no_repeat_ngram_size = 1
    folder = tiny.save(model, tokenizer, tmp_path / "bart")
    engine = TransformersEngine(load("seq2seq", folder))
    sources = engine.encode(some_sources(4))
    beam = engine.generate(sources, DecodingSettings(size=3, max_length=6))
    assert {each.tokens[0] for row in beam for each in row} == {3}
    assert engine.generate(sources, DecodingSettings("diverse", size=3, max_length=6, groups=1)) == beam
    assert engine.limit == 64
    long = generate_many(engine, ["cat " * 100], DecodingSettings(size=3, max_length=engine.limit))
    assert long[0].flags == {"too_long": (0,)}
    with pytest.raises(InputError, match=r"is a bart model; ctranslate2 is for T5, use the engine transformers"):
        convert(folder)


def test_a_conversion_is_kept_until_the_model_changes(tmp_path):
    folder = tiny.save_t5(tmp_path / "model")
    target = convert(folder, "float32")
    assert target == tmp_path / "model" / "ctranslate2-float32"
    stamp = (target / "model.bin").stat().st_mtime_ns
    assert convert(folder, "float32") == target
    assert (target / "model.bin").stat().st_mtime_ns == stamp
    before = CTranslate2Engine(folder, "float32").generate([[3, 4, 1]], DecodingSettings(size=2, max_length=5))
    tiny.save_t5(tmp_path / "model", seed=5)
    after = CTranslate2Engine(folder, "float32").generate([[3, 4, 1]], DecodingSettings(size=2, max_length=5))
    assert before != after
    assert sorted(path.name for path in (tmp_path / "model").glob("ctranslate2*")) == ["ctranslate2-float32"]


def test_a_model_that_cannot_be_written_beside(tmp_path, monkeypatch):
    folder = tiny.save_t5(tmp_path / "model")
    monkeypatch.setattr("os.access", lambda path, mode: False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert (tmp_path / "cache" / "btr") in convert(folder, "int8").parents
    assert not list((tmp_path / "model").glob("ctranslate2*"))


def test_int8_is_close(folders):
    """Not equal, but closer than another model; without VNNI, int8 products saturate, and differ more."""
    exact, rough, other = (
        CTranslate2Engine(folders[style], compute)
        for style, compute in (("v1.1", "float32"), ("v1.1", "int8"), ("v1.0", "float32"))
    )
    sources = exact.encode(some_sources())
    a, b, c = (torch.tensor(engine.log_probs(sources, sources)) for engine in (exact, rough, other))
    assert 0 < (a - b).abs().mean() < 0.5 * (a - c).abs().mean()


def test_groups_of_a_fixed_width():
    lengths = [*range(1, 20)] * 5
    groups = list(group_by_width(lengths))
    assert sorted(k for group, _ in groups for k in group) == list(range(len(lengths)))
    for group, filler in groups:
        assert len(group) + (filler is not None) <= BATCH
        width = max(lengths[k] for k in group) if filler is None else filler
        assert {-(-lengths[k] // WIDTH_STEP) * WIDTH_STEP for k in group} == {width}


def test_in_int8_a_source_has_the_same_candidates_whatever_else_is_in_the_batch(folders):
    """Sources of all widths, more than a batch of one of them, and some that need a filler to reach the width."""
    engine = CTranslate2Engine(folders["v1.1"], "int8")
    assert engine.filler == "<extra_id_0>"
    assert engine.signature.endswith("|dtype:int8|width:8")
    assert CTranslate2Engine(folders["v1.1"], "float32").signature.endswith("|dtype:float32")
    words = [3, 4, 5, 6, 7]
    sources = [[words[(k * n) % 5] for n in range(length)] + [1] for length in range(1, 20) for k in range(1, 6)]
    decoding = DecodingSettings(size=3, max_length=9)
    together = engine.generate(sources, decoding)
    assert [engine.generate([source], decoding)[0] for source in sources[::7]] == together[::7]
    assert engine.generate(sources[::-3], decoding) == together[::-3]
    log_probs = engine.log_probs(sources, sources[::-1])
    assert [engine.log_probs([s], [t])[0] for s, t in zip(sources[::7], sources[::-1][::7])] == log_probs[::7]


def test_torch_keeps_its_threads(folders):
    threads = torch.get_num_threads()
    CTranslate2Engine(folders["v1.1"], "int8")
    assert torch.get_num_threads() == threads


def test_a_conversion_leaves_the_model_as_it_was(tmp_path):
    folder = tiny.save_t5(tmp_path / "model")
    before = (tmp_path / "model" / "model.safetensors").read_bytes()
    convert(folder, "int8")
    assert (tmp_path / "model" / "model.safetensors").read_bytes() == before


def test_ctranslate2_samples_by_seed_and_sources_only(folders):
    """The same seed gives the same samples in any order of calls; nucleus sampling of next to nothing is greedy."""
    engine = CTranslate2Engine(folders["v1.1"], "float32")
    sources = engine.encode(["the cat sat on the mat .", "he go .", "a b c d e f"])

    def sample(seed, **options):
        return engine.generate(sources, DecodingSettings("nucleus", size=3, max_length=12, seed=seed, **options))

    first = sample(1)
    others = sample(2)
    assert sample(1) == first != others
    assert [len(group) for group in first] == [3, 3, 3]
    assert all(hypothesis.log_prob is None for group in first for hypothesis in group)
    greedy = engine.generate(sources, DecodingSettings(size=1, max_length=12))
    for settings in (DecodingSettings("nucleus", 1, 12, top_p=1e-6), DecodingSettings("top-k", 1, 12, top_k=1)):
        sampled = engine.generate(sources, settings)
        assert [each.tokens for (each,) in sampled] == [each.tokens for (each,) in greedy]
    assert engine.decoding_signature(DecodingSettings("nucleus")).endswith("|p:0.95|seed:0|k:50")


def test_what_ctranslate2_cannot_do(folders):
    with pytest.raises(
        InputError,
        match=r"ctranslate2 does beam, top-k, nucleus only; for diverse, use the engine transformers\.",
    ):
        check_engine("ctranslate2", DecodingSettings("diverse"))
    with pytest.raises(InputError, match=r"ctranslate2 computes in float32 or int8, not 'bfloat16'\."):
        CTranslate2Engine(folders["v1.1"], "bfloat16")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "greedy"}, "method must be one of beam, diverse, top-k, nucleus, not 'greedy'"),
        ({"size": 0}, "size must be at least 1"),
        ({"method": "diverse", "size": 6}, "6 candidates can't be divided evenly among 5 groups"),
        ({"top_p": 0.0}, "top_p must be above 0"),
        ({"penalty": -1.0}, "the penalty can't be negative"),
    ],
)
def test_settings_that_make_no_sense(options, message):
    with pytest.raises(InputError, match=message):
        DecodingSettings(**options)
