"""A tiny Llama as a GGUF file, written by the package `gguf` as llama.cpp's tools do, and a wheel that holds one."""

import zipfile

import numpy as np
from gguf import GGUFWriter, TokenType

TOKENS = ["<|endoftext|>", "<unk>", *"abcdeghionstwmIT.,", "Ġ", "Ġt", "he", "Ġthe", "at", "Ġc", "Ġcat"]
MERGES = ["Ġ t", "h e", "Ġt he", "a t", "Ġ c", "Ġc at"]
HIDDEN, HEADS, KEY_VALUE_HEADS, INNER, LAYERS = 32, 4, 2, 64, 2
KEY_VALUE_SIZE = HIDDEN * KEY_VALUE_HEADS // HEADS
FILE = "tiny_lm/model.gguf"


def write_gguf(path, seed=0):
    """Write a model in float32 with grouped heads and tied embeddings."""
    random = np.random.default_rng(seed)
    writer = GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(1024)
    writer.add_embedding_length(HIDDEN)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_VALUE_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(TOKENS)
    writer.add_token_types([TokenType.CONTROL, TokenType.CONTROL, *[TokenType.NORMAL] * (len(TOKENS) - 2)])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(0)
    writer.add_eos_token_id(0)
    writer.add_unk_token_id(1)
    weights = {"token_embd.weight": (len(TOKENS), HIDDEN), "output_norm.weight": (HIDDEN,)}
    for layer in range(LAYERS):
        shapes = {
            "attn_norm": (HIDDEN,), "ffn_norm": (HIDDEN,), "attn_q": (HIDDEN, HIDDEN), "attn_output": (HIDDEN, HIDDEN),
            "attn_k": (KEY_VALUE_SIZE, HIDDEN), "attn_v": (KEY_VALUE_SIZE, HIDDEN),
            "ffn_gate": (INNER, HIDDEN), "ffn_up": (INNER, HIDDEN), "ffn_down": (HIDDEN, INNER),
        }  # fmt: skip
        weights |= {f"blk.{layer}.{name}.weight": shape for name, shape in shapes.items()}
    for name, shape in weights.items():
        writer.add_tensor(name, (random.standard_normal(shape) * 0.3).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_wheel(folder, content, file=FILE):
    """Write the wheel of a package tiny-lm 1.0 that holds a file."""
    info = "tiny_lm-1.0.dist-info"
    with zipfile.ZipFile(folder / "tiny_lm-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(file, content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-lm\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
