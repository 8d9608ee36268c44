"""Loading tokenizers: with `transformers`, or without it where CTranslate2 needs no more than tokenizer.json."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from btr.errors import InputError
from btr.models.bidirectional import MODEL_TYPES
from btr.models.config import READ_TYPES, ModelFacts, silence_libraries
from btr.models.identity import read_object
from btr.models.locate import TOKENIZER_FILES, first_line

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerBase

SPECIAL_TOKENS = "bos_token", "eos_token", "unk_token", "pad_token"
PLAIN_CLASS = "TokenizersBackend"  # in tokenizer_config.json: tokenizer.json says all
# Keys of tokenizer_config.json that do not change the tokens of a text, or that PlainTokenizer reads.
PLAIN_KEYS = {
    *SPECIAL_TOKENS, "extra_special_tokens", "tokenizer_class", "backend", "is_local", "local_files_only",
    "model_max_length", "padding_side",
}  # fmt: skip
OLDER_FILES = "special_tokens_map.json", "added_tokens.json"  # which say more than tokenizer.json
MAX_PLAIN_VOCABULARY = 100_000  # `transformers` mends the rules of some larger ones


class PlainTokenizer:
    """A tokenizer.json: what we need of a tokenizer of `transformers`, with the same results."""

    def __init__(self, tokenizer: "Tokenizer", special: dict[str, str]) -> None:
        self.tokenizer = tokenizer
        self.eos_token, self.bos_token = special.get("eos_token"), special.get("bos_token")
        self.eos_token_id, self.bos_token_id, self.unk_token_id = (
            tokenizer.token_to_id(special[name]) if name in special else None
            for name in ("eos_token", "bos_token", "unk_token")
        )

    def __call__(
        self, text: str, add_special_tokens: bool = True, return_offsets_mapping: bool = False
    ) -> dict[str, list[Any]]:
        """Return the tokens of a text as input_ids, and where each begins and ends in it as offset_mapping."""
        encoded = self.tokenizer.encode(text, add_special_tokens=add_special_tokens)
        return {"input_ids": encoded.ids, **({"offset_mapping": encoded.offsets} if return_offsets_mapping else {})}

    def batch_decode(
        self,
        rows: Sequence[Sequence[int]],
        skip_special_tokens: bool = False,
        clean_up_tokenization_spaces: bool = False,
    ) -> list[str]:
        """Return the text of each sequence of tokens; no spaces are cleaned up."""
        assert not clean_up_tokenization_spaces
        return [self.tokenizer.decode(row, skip_special_tokens=skip_special_tokens) for row in rows]

    def get_vocab(self) -> dict[str, int]:
        """Return all tokens, each with its number."""
        return self.tokenizer.get_vocab(with_added_tokens=True)

    def convert_tokens_to_ids(self, tokens: Sequence[str]) -> list[int | None]:
        """Return the numbers of tokens; of one that is not in the vocabulary, that of the unknown token."""
        numbers = map(self.tokenizer.token_to_id, tokens)
        return [self.unk_token_id if number is None else number for number in numbers]

    def convert_ids_to_tokens(self, numbers: Sequence[int]) -> list[str | None]:
        """Return the tokens with these numbers."""
        return [self.tokenizer.id_to_token(number) for number in numbers]


def load_tokenizer(path: str, config: Any, name: str) -> "PreTrainedTokenizerBase":
    """Load a model's tokenizer. Refuse a folder without its files, for which `transformers` makes an empty one."""
    from transformers import AutoTokenizer

    silence_libraries()
    check_tokenizer_files(path, name)
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except Exception as error:  # where a value is of a wrong type, `transformers` raises anything
        raise InputError(f"{name}: its tokenizer can't be loaded ({first_line(error)}).") from None
    check_end(tokenizer, config, name)
    return tokenizer


def load_plain_tokenizer(path: str, facts: ModelFacts, name: str) -> Any:
    """Load a model's tokenizer for CTranslate2: without `transformers`, if tokenizer.json says all."""
    check_tokenizer_files(path, name)
    tokenizer = read_plain_tokenizer(Path(path)) if facts.model_type in READ_TYPES else None
    if tokenizer is None:
        return load_tokenizer(path, facts, name)
    check_end(tokenizer, facts, name)
    return tokenizer


def read_plain_tokenizer(folder: Path) -> PlainTokenizer | None:
    """Read a folder's tokenizer.json; None if `transformers` would change it by what other files say."""
    if any((folder / file).is_file() for file in OLDER_FILES):
        return None
    try:
        config = read_object(folder / "tokenizer_config.json")
        tokenizer = parse_tokenizer((folder / "tokenizer.json").read_text(encoding="utf-8"))
    except Exception:  # tokenizers raises nothing more specific; `transformers` says what is wrong
        return None
    special = {key: config[key] for key in SPECIAL_TOKENS if config.get(key) is not None}
    extra = config.get("extra_special_tokens") or []
    named = [*special.values(), *(extra if isinstance(extra, list) else [None])]
    marked = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    is_plain = (
        config.get("tokenizer_class") == PLAIN_CLASS
        and set(config) <= PLAIN_KEYS
        and all(isinstance(token, str) and token in marked for token in named)
        and tokenizer.post_processor is not None
        and tokenizer.truncation is None
        and tokenizer.padding is None
        and tokenizer.get_vocab_size() <= MAX_PLAIN_VOCABULARY
    )
    return PlainTokenizer(tokenizer, {key: str(token) for key, token in special.items()}) if is_plain else None


@lru_cache(maxsize=2)
def parse_tokenizer(content: str) -> "Tokenizer":
    """Return the tokenizer that a tokenizer.json describes; models often share one."""
    from tokenizers import Tokenizer

    return Tokenizer.from_str(content)


def check_tokenizer_files(path: str, name: str) -> None:
    """Refuse a folder that has none of a tokenizer's files."""
    if Path(path).is_dir() and not any((Path(path) / file).is_file() for file in TOKENIZER_FILES):
        raise InputError(
            f"{name}: has no tokenizer ({', '.join(TOKENIZER_FILES)}); copy it from the model it came from."
        )


def check_end(tokenizer: Any, config: Any, name: str) -> None:
    """Refuse a T5's tokenizer that does not end a text."""
    ids: list[int] = tokenizer("a")["input_ids"]
    if config.model_type in MODEL_TYPES and ids[-1:] != [config.eos_token_id]:
        raise InputError(f"{name}: its tokenizer does not end a text with </s>, as a T5's does.")
