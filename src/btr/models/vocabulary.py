"""Dropping the pieces of a T5's vocabulary that a text does not use, for `btr compact --vocabulary`.

T5's 32,100 pieces are those of English, German, French and Romanian. The pieces that remain keep their order, and a
text that needs no dropped piece has the same tokens as before: the best division of a text into pieces stays the best
when other pieces go. Any other text is written with shorter pieces, down to single characters, all of which remain.
"""

import json
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor
from transformers import PreTrainedTokenizerBase

from btr.corpus.files import PathLike, read_lines
from btr.errors import InputError
from btr.models.bidirectional import MODEL_TYPES
from btr.models.config import start_token
from btr.models.identity import read_object
from btr.models.tokenizer import load_tokenizer
from btr.resume import windows

ROW_STEP = 8  # the number of rows is a multiple of this, for which processors multiply matrices best
WINDOW = 1000  # lines that are tokenised together
# Pieces that remain in any case: characters (also as mT5's bytes) with and without a space before them, and sentinels.
BASIC_PIECE = re.compile(r"▁?(.|<0x[0-9A-F]{2}>|<extra_id_\d+>)?", re.DOTALL)
WORD_WEIGHTS = "shared.weight", "encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"
OTHER_FILES = "spiece.model", "sentencepiece.bpe.model", "added_tokens.json"  # which have the former vocabulary


@dataclass(frozen=True, slots=True)
class SmallerVocabulary:
    """The rows of a model's embeddings that remain, in order, and the tokenizer for them."""

    rows: Sequence[int]
    pieces: dict[str, int]  # with their new numbers
    original_rows: int
    original_pieces: int
    tokenizer: dict[str, Any]  # tokenizer.json

    def select_rows(self, weights: dict[str, Tensor], name: str) -> dict[str, Tensor]:
        """Return a model's weights with the remaining rows of the embeddings and of the output layer."""
        rows = list(self.rows)
        for table in WORD_WEIGHTS:
            if table in weights and len(weights[table]) != self.original_rows:
                raise InputError(f"{name}: has {len(weights[table]):,} rows in {table}, not {self.original_rows:,}.")
        return {key: weight[rows] if key in WORD_WEIGHTS else weight for key, weight in weights.items()}

    def write_tokenizer(self, folder: Path, config: Any, name: str) -> None:
        """Replace the tokenizer in a folder, and check that `transformers` reads it as it is meant."""
        for file in OTHER_FILES:
            (folder / file).unlink(missing_ok=True)
        (folder / "tokenizer.json").write_text(json.dumps(self.tokenizer, ensure_ascii=False), encoding="utf-8")
        settings = folder / "tokenizer_config.json"
        if settings.is_file():
            content = read_object(settings)
            content.pop("added_tokens_decoder", None)  # numbers of tokens, which tokenizer.json has too
            settings.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        if load_tokenizer(str(folder), config, name).get_vocab() != self.pieces:
            raise InputError(f"{name}: its vocabulary can't be made smaller, since tokenizer.json does not say it all.")


def choose_vocabulary(folder: Path, config: Any, name: str, texts: Sequence[PathLike]) -> SmallerVocabulary:
    """Choose the pieces of a T5 that remain: characters, special tokens, and those that the texts use."""
    content = read_unigram(folder, config, name)
    tokenizer = load_tokenizer(str(folder), config, name)
    before: dict[str, int] = tokenizer.get_vocab()
    if max(before.values()) >= config.vocab_size:
        raise InputError(f"{name}: its tokenizer has {len(before):,} tokens, but the model {config.vocab_size:,}.")
    rows = remaining_rows(content, find_tokens(tokenizer, texts), config.vocab_size)
    numbers = {row: number for number, row in enumerate(rows)}
    special = {start_token(config), config.pad_token_id, config.eos_token_id}
    if any(numbers.get(token) != token for token in special):
        raise InputError(f"{name}: its vocabulary can't be made smaller, since <pad> and </s> are not at its start.")
    pieces = {piece: numbers[row] for piece, row in before.items() if row in numbers}
    return SmallerVocabulary(rows, pieces, config.vocab_size, len(before), renumber_tokenizer(content, numbers))


def read_unigram(folder: Path, config: Any, name: str) -> dict[str, Any]:
    """Read a T5's tokenizer.json; refuse one that is not of the type Unigram."""
    if config.model_type not in MODEL_TYPES:
        raise InputError(f"{name}: is a {config.model_type} model; only the vocabulary of a T5 can be made smaller.")
    file = folder / "tokenizer.json"
    content: dict[str, Any] = read_object(file) if file.is_file() else {}
    model = content.get("model")
    if not isinstance(model, dict) or model.get("type") != "Unigram":
        raise InputError(
            f"{name}: its vocabulary can't be made smaller, since it has no tokenizer.json of the type Unigram."
        )
    return content


def find_tokens(tokenizer: PreTrainedTokenizerBase, texts: Sequence[PathLike]) -> set[int]:
    """Return the tokens of texts that have one paragraph per line; refuse a text that has none."""
    used: set[int] = set()
    for path in texts:
        is_empty = True
        for window in windows((line for line in read_lines(path) if line.strip()), WINDOW):
            is_empty = False
            used.update(*tokenizer(window, add_special_tokens=False, return_attention_mask=False)["input_ids"])
        if is_empty:
            raise InputError(f"{path}: is empty; expected text, one paragraph per line.")
    return used


def remaining_rows(content: dict[str, Any], used: Set[int], size: int) -> list[int]:
    """Return the rows that remain of `size`, in order.

    Dropped pieces fill them up to a multiple of ROW_STEP: the first of them, which T5's own text used most. The least
    probable piece remains, since the tokenizer derives the penalty of unknown characters from it.
    """
    pieces = content["model"]["vocab"]
    least = min(range(len(pieces)), key=lambda row: pieces[row][1])
    basic = (row for row, (piece, _) in enumerate(pieces) if BASIC_PIECE.fullmatch(piece))
    rows = {*used, *basic, *(token["id"] for token in content["added_tokens"]), content["model"]["unk_id"], least}
    dropped = [row for row in range(size) if row not in rows]
    return sorted([*rows, *dropped[: -len(rows) % ROW_STEP]])


def renumber_tokenizer(content: dict[str, Any], numbers: dict[int, int]) -> dict[str, Any]:
    """Return a tokenizer.json with only the tokens that have new numbers."""
    model, post_processor = content["model"], content["post_processor"] or {}
    pieces = [piece for row, piece in enumerate(model["vocab"]) if row in numbers]
    added = [{**token, "id": numbers[token["id"]]} for token in content["added_tokens"]]
    if "special_tokens" in post_processor:
        special = {
            key: {**token, "ids": [numbers[row] for row in token["ids"]]}
            for key, token in post_processor["special_tokens"].items()
        }
        post_processor = {**post_processor, "special_tokens": special}
    return {
        **content,
        "added_tokens": added,
        "post_processor": post_processor or None,
        "model": {**model, "vocab": pieces, "unk_id": numbers[model["unk_id"]]},
    }
