"""The shapes of requests and answers, as `/docs` shows them."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from btr.corpus.files import check_text
from btr.errors import InputError

MOST_CANDIDATES = 100


def check_words(text: str) -> str:
    """A text that can be written down; what is wrong with others is said as pydantic wants it."""
    try:
        return check_text(text)
    except InputError as error:
        raise ValueError(str(error).rstrip(".")) from None


Words = Annotated[str, AfterValidator(check_words)]
Share = Annotated[float, Field(description="Its share of the reranker's belief, of all candidates that took part.")]
TookPart = Annotated[bool, Field(description="Whether f was spread over it; if not, its f is 0.")]


class Asked(BaseModel):
    """What a client sends; an unknown key is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Text(Asked):
    """A text to correct."""

    text: Words = Field(examples=["She have two dog."])
    markdown: bool = Field(False, description="Whether it is Markdown: then indented code and front matter stay, too.")


class Pair(Asked):
    """A sentence and candidates of its correction, tokenised as `btr generate` writes them."""

    source: Words = Field(min_length=1, examples=["She have two dog ."])
    candidates: list[Words] = Field(
        min_length=1,
        max_length=MOST_CANDIDATES,
        description="The first is the base model's choice.",
        examples=[["She have two dogs .", "She has two dogs ."]],
    )


class Check(BaseModel):
    """What a LanguageTool client sends."""

    language: str = Field(description="en, en-US, en-GB … or auto.")
    text: Words | None = Field(None, description="The text, or else data.")
    data: Words | None = Field(None, description="The text with markup, as JSON.")
    disabledRules: str = Field("", description="Not to be told, e.g. R_PREP.")  # noqa: N815
    enabledRules: str = ""  # noqa: N815
    disabledCategories: str = Field("", description="Not to be told, e.g. TYPOS.")  # noqa: N815
    enabledCategories: str = ""  # noqa: N815
    enabledOnly: bool = Field(False, description="Tell only what is enabled.")  # noqa: N815


class Edit(BaseModel):
    """Characters `start` to `end` (Unicode code points of the whole text) become `replacement`."""

    start: int
    end: int
    original: str
    replacement: str
    type: str = Field(description="By ERRANT, e.g. R:VERB:SVA.")


class Candidate(BaseModel):
    """A way to write the sentence."""

    text: str
    f: Share
    took_part: TookPart
    log_prob: float | None = Field(description="By the base model.")
    edits: list[Edit] = Field(description="What makes it of the text.")
    flag: str | None = Field(None, description="runaway or unfinished: it is not one to take, and has no edits.")


class Decided(BaseModel):
    """The choice among candidates."""

    decision: str = Field(
        "equal", description="accept, reject, or equal: what became of the suggestion, against the base model's choice."
    )
    margin: float = Field(0.0, description="f of the suggestion less f of the base model's choice.")
    choice: int = Field(0, description="The candidate that was taken.")
    suggestion: int = Field(0, description="The candidate that the reranker likes best; 0 is the base model's choice.")


class Sentence(Decided):
    """A sentence of the text, as in `btr correct --json`; if it was left alone, `left` says why."""

    start: int
    end: int
    source: str = Field(description="What the model read.")
    edits: list[Edit]
    tokens: list[tuple[int, int, str, str]] = Field(description="The edits of tokens: from, to, type, new words.")
    candidates: list[Candidate] = []
    left: str | None = Field(None, description="too_long or not_english.")


class Corrected(BaseModel):
    """A text after correction."""

    text: str
    sentences: list[Sentence]


class Score(BaseModel):
    """A candidate's score: a mean log-probability, or the like; null if it is too long."""

    text: str
    score: float | None
    f: Share
    took_part: TookPart


class Scored(Decided):
    """Candidates with their scores, and the choice among them."""

    candidates: list[Score]


class Models(BaseModel):
    """What this server corrects with, and what it takes."""

    model: str
    reranker: str | None
    candidates: int
    threshold: float = Field(description="λ: how much f must rise above the base model's choice.")
    signature: str
    max_characters: int


class Health(BaseModel):
    """That the server is well."""

    status: str = "ok"
