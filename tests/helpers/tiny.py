"""Tiny models with random weights, saved as real ones are: they load in milliseconds, and nothing is downloaded."""

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import (
    AutoModelForCausalLM,
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BloomConfig,
    GPT2Config,
    LlamaConfig,
    MPNetConfig,
    MPNetForMaskedLM,
    MT5Config,
    MT5ForConditionalGeneration,
    PreTrainedTokenizerFast,
    Qwen2Config,
    RobertaConfig,
    RobertaForMaskedLM,
    T5Config,
    T5ForConditionalGeneration,
)

from btr.models.bidirectional import make_bidirectional
from btr.models.edit_judging import EditJudgingT5

WORDS = "a b c d e the cat cats sat sits on mat . , I has have two dog dogs he she it goes go went".split()  # noqa: SIM905
T5_SHAPE = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 3, "num_heads": 4, "decoder_start_token_id": 0}
BERT_SHAPE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}


def t5_tokenizer(mask="<extra_id_0>"):
    vocabulary = {word: k for k, word in enumerate(["<pad>", "</s>", "<unk>", *WORDS, mask])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", extra_special_tokens=[mask]
    )


def unigram_tokenizer():
    """Pieces with scores, as T5 has them: characters, English and German words, and sentinels at the end."""
    special = ["<pad>", "</s>", "<unk>"]
    words = ["▁the", "▁cat", "s", "▁Haus", "▁have", "▁two", "▁und", "▁Katze", "▁he", "▁dog", "▁sat", "haus", "▁nicht"]
    words += ["at", "▁Straße", "▁has"]
    characters = list("▁abcdefghijklmnopqrtuvwxyzHIKS.,")
    pieces = [(piece, 0.0) for piece in special]
    pieces += [(piece, -2.0 - k / 8) for k, piece in enumerate(words)] + [(each, -6.0) for each in characters]
    pieces += [("Katzen", -7.0)]
    sentinels = [f"<extra_id_{k}>" for k in range(3, -1, -1)]
    tokenizer = Tokenizer(models.Unigram([*pieces, *((name, 0.0) for name in sentinels)], unk_id=2))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    names = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, extra_special_tokens=sentinels, **names)


def bert_tokenizer(types=True):
    vocabulary = {word: k for k, word in enumerate(["[PAD]", "[CLS]", "[SEP]", "[MASK]", "[UNK]", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    second = "$B:1 [SEP]:1" if types else "[SEP] $B [SEP]"
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair=f"[CLS] $A [SEP] {second}", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    inputs = ["input_ids", "token_type_ids", "attention_mask"] if types else ["input_ids", "attention_mask"]
    names = {"pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]", "unk": "[UNK]"}
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_input_names=inputs, **{f"{name}_token": text for name, text in names.items()}
    )


def randomise(model, seed=0):
    """Weights large enough that every token matters."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.3)
    return model.eval()


def save(model, tokenizer, folder):
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def save_t5(folder, style="v1.1", bidirectional=False, seed=0, tokenizer=None, **options):
    """`style` is v1.1 (gated, untied), v1.0 (relu, tied, scaled output) or mt5."""
    tokenizer = tokenizer or t5_tokenizer("▁<extra_id_0>" if style == "mt5" else "<extra_id_0>")
    shape = {**T5_SHAPE, "vocab_size": len(tokenizer), **options}
    if style == "mt5":
        model = MT5ForConditionalGeneration(MT5Config(**shape))
    else:
        kind = "gated-gelu" if style == "v1.1" else "relu"
        model = T5ForConditionalGeneration(T5Config(**shape, feed_forward_proj=kind))
        if style == "v1.1":
            model.config.scale_decoder_outputs = False
            model.config.tie_word_embeddings = False
            model.lm_head.weight = torch.nn.Parameter(torch.zeros_like(model.lm_head.weight))
    randomise(model, seed)
    if bidirectional:
        make_bidirectional(model)
    return save(model, tokenizer, folder)


def save_edit_btr(folder, style="v1.1", seed=0, tokenizer=None, **options):
    """A bidirectional T5 with a head for edits; `style` is v1.1 (gated) or v1.0 (relu, scaled output)."""
    tokenizer = tokenizer or t5_tokenizer()
    shape = {**T5_SHAPE, "vocab_size": len(tokenizer), **options}
    config = T5Config(**shape, feed_forward_proj="gated-gelu" if style == "v1.1" else "relu")
    config.scale_decoder_outputs = style == "v1.0"
    model = make_bidirectional(randomise(EditJudgingT5(config), seed))
    model.edit_head.last.weight.data.mul_(0.01)  # log-odds as those of a trained model
    return save(model, tokenizer, folder)


def save_encoder(folder, style="bert", seed=0):
    """A masked language model: bert (with token types), roberta or mpnet."""
    tokenizer = bert_tokenizer(types=style == "bert")
    shape = {**BERT_SHAPE, "vocab_size": len(tokenizer), "pad_token_id": 0}
    model = {
        "bert": lambda: BertForMaskedLM(BertConfig(**shape, max_position_embeddings=64)),
        "roberta": lambda: RobertaForMaskedLM(RobertaConfig(**shape, max_position_embeddings=66, type_vocab_size=1)),
        "mpnet": lambda: MPNetForMaskedLM(MPNetConfig(**shape, max_position_embeddings=66)),
    }[style]()
    return save(randomise(model, seed), tokenizer, folder)


def save_classifier(folder, labels=2, seed=0):
    tokenizer = bert_tokenizer()
    config = BertConfig(**BERT_SHAPE, vocab_size=len(tokenizer), num_labels=labels, max_position_embeddings=64)
    return save(randomise(BertForSequenceClassification(config), seed), tokenizer, folder)


def lm_tokenizer(separator="<|endoftext|>"):
    """Words and spaces, as byte-level vocabularies have them: adds no begin and no end."""
    words = [f"{gap}{word}" for gap in ("", "Ġ") for word in WORDS]
    vocabulary = {word: k for k, word in enumerate([separator, "<unk>", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=separator, unk_token="<unk>")


def save_language_model(folder, style="llama", seed=0, tied=True):
    """A causal language model: llama (grouped heads), qwen2, gpt2 (absolute positions) or bloom (ALiBi)."""
    tokenizer = lm_tokenizer()
    shape = {**BERT_SHAPE, "vocab_size": len(tokenizer), "tie_word_embeddings": tied}
    tokens = {"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    config = {
        "llama": lambda: LlamaConfig(**shape, **tokens, num_key_value_heads=2, max_position_embeddings=1024),
        "qwen2": lambda: Qwen2Config(**shape, **tokens, num_key_value_heads=2, max_position_embeddings=1024),
        "gpt2": lambda: GPT2Config(
            n_embd=32, n_layer=2, n_head=4, n_positions=1024, vocab_size=len(tokenizer), **tokens
        ),
        "bloom": lambda: BloomConfig(hidden_size=32, n_layer=2, n_head=4, vocab_size=len(tokenizer), **tokens),
    }[style]()
    return save(randomise(AutoModelForCausalLM.from_config(config), seed), tokenizer, folder)
