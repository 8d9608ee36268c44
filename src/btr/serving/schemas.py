"""The shapes of requests and answers, as `/docs` shows them."""

from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from btr.corpus.files import check_text
from btr.correction.selection import ScoredCandidates
from btr.correction.variants import Options
from btr.decisions.judge_edits import EditDecision
from btr.errors import InputError

MAX_CANDIDATES = 100  # of a request to score
MAX_WRITTEN = 20  # candidates per sentence of a request to correct
MAX_WORDS, MAX_WORD = 1_000, 100  # words of a request's dictionary, and characters of each


def check_plain(text: str) -> str:
    """Return a text that can be written to a file; for others raise the error that pydantic expects."""
    try:
        return check_text(text)
    except InputError as error:
        raise ValueError(str(error).rstrip(".")) from None


PlainText = Annotated[str, AfterValidator(check_plain)]
Probability = Annotated[
    float, Field(description="f(y|x): its probability among the candidates that compete; 0 if it does not compete.")
]
Competes = Annotated[bool, Field(description="Whether it is among the candidates that the reranker chooses from.")]


class JsonRequest(BaseModel):
    """A request in JSON; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)


class CorrectOptions(JsonRequest):
    """The settings that a request chooses in place of the server's."""

    profile: str | None = Field(None, description="One of those that `/v1/models` lists, as for `btr correct`.")
    cutoff: float | None = Field(
        None, ge=0, le=1, strict=False, description="How sure the judge must be of an edit; if none: the profile's."
    )
    candidates: int | None = Field(None, ge=1, le=MAX_WRITTEN, description="How many the base model writes.")
    words: list[Annotated[str, Field(max_length=MAX_WORD)]] = Field(
        [], max_length=MAX_WORDS, description="Words that are never changed, beside those of the server's dictionary."
    )

    @property
    def options(self) -> Options:
        """The settings that the request chooses."""
        return Options(self.profile, self.cutoff, self.candidates)


class CorrectRequest(CorrectOptions):
    """A text to correct."""

    text: PlainText = Field(examples=["She have two dog."])
    markdown: bool = Field(False, description="Whether it is Markdown, so that indented code and front matter stay.")


class ScoreRequest(JsonRequest):
    """A sentence and candidates of its correction, tokenised as `btr generate` writes them."""

    source: PlainText = Field(min_length=1, examples=["She have two dog ."])
    candidates: list[PlainText] = Field(
        min_length=1,
        max_length=MAX_CANDIDATES,
        description="The first is the base candidate.",
        examples=[["She have two dogs .", "She has two dogs ."]],
    )
    log_probs: list[FiniteFloat | None] | None = Field(
        None,
        description="The base model's log-probabilities as `btr generate` writes them; without them it computes them.",
    )

    @model_validator(mode="after")
    def check_lengths(self) -> Self:
        """Refuse another number of log-probabilities than of candidates."""
        if self.log_probs is not None and len(self.log_probs) != len(self.candidates):
            raise ValueError(f"there are {len(self.candidates)} candidates, but {len(self.log_probs)} log_probs")
        return self


class CheckRequest(BaseModel):
    """A request of a LanguageTool client."""

    language: str = Field(description="en, en-US, en-GB … or auto.")
    text: PlainText | None = Field(None, description="The text; either this or data.")
    data: PlainText | None = Field(None, description="The text with markup, as JSON.")
    disabledRules: str = Field("", description="Rules without matches, e.g. R_PREP.")  # noqa: N815
    enabledRules: str = ""  # noqa: N815
    disabledCategories: str = Field("", description="Categories without matches, e.g. TYPOS.")  # noqa: N815
    enabledCategories: str = ""  # noqa: N815
    level: str = Field("default", description="picky: also edits that are less sure, if a judge decides.")
    enabledOnly: bool = Field(False, description="Only what is enabled has matches.")  # noqa: N815


class Replacement(BaseModel):
    """Another replacement for the place of an edit."""

    text: str
    confidence: float


class Edit(BaseModel):
    """Characters `start` to `end` (Unicode code points of the whole text) become `replacement`."""

    start: int
    end: int
    original: str
    replacement: str
    type: str = Field(description="The type that ERRANT gives it, e.g. R:VERB:SVA.")
    confidence: float | None = Field(None, description="The probability that the edit is right, if a judge decided.")
    reason: str | None = Field(None, description="The type in words, e.g. subject–verb agreement.")
    explanation: str | None = Field(None, description="What the type means, in a sentence.")
    others: list[Replacement] = Field([], description="The runners-up for the same place, the surest first.")


class Candidate(BaseModel):
    """A candidate correction of the sentence."""

    text: str
    probability: Probability
    competes: Competes
    log_prob: float | None = Field(None, description="Its log-probability by the base model.")
    edits: list[Edit] = Field(description="The edits that turn the text into it.")
    flag: str | None = Field(None, description="runaway or unfinished: it is never chosen, and has no edits.")


class DecisionFields(BaseModel):
    """The decision among candidates."""

    verdict: str = Field(
        "equal",
        description="accept or reject the reranker's suggestion; equal: it is the base candidate. If a judge decided: "
        "equal for the base candidate, accept for another text.",
    )
    index: int = Field(0, description="The index of the chosen candidate; 0 is the base candidate.")
    suggestion: int | None = Field(
        None, description="The index of the candidate that the reranker prefers; none if a judge decided."
    )
    margin: float | None = Field(
        None, description="The probability of the suggestion minus the base candidate's; none if a judge decided."
    )


class Sentence(DecisionFields):
    """A sentence of the text, as in `btr correct --json`; if it was not corrected, `skipped` says why."""

    start: int
    end: int
    source: str = Field(description="The tokens that the model read.")
    edits: list[Edit]
    tokens: list[tuple[int, int, str, str, float | None]] = Field(
        description="The edits of tokens: start, end, type, new words, confidence."
    )
    candidates: list[Candidate] = []
    alternatives: list[Edit] = Field(
        [],
        description="Edits of a confidence of at least 0.1 that were not made, the surest first, if a judge decided.",
    )
    skipped: str | None = Field(None, description="too_long or not_english.")


class CorrectResponse(BaseModel):
    """A corrected text."""

    text: str
    sentences: list[Sentence]
    signature: str = Field(description="What the corrections depend on: models and settings.")
    complete: bool | None = Field(None, description="False if there was no time for the whole text; else absent.")
    corrected_until: int | None = Field(
        None, description="If it is not complete: from this character on the text that was sent stays as it is."
    )


class Score(BaseModel):
    """A candidate's score, e.g. a mean log-probability; null if it does not compete, or is too long for the models."""

    text: str
    score: float | None
    probability: Probability
    competes: Competes


class ScoreResponse(DecisionFields):
    """Candidates with their scores, and the decision among them."""

    text: str = Field(description="The chosen text.")
    candidates: list[Score]

    @classmethod
    def from_scores(cls, scored: ScoredCandidates) -> Self:
        """Return the answer for scored candidates."""
        decision = scored.decision
        is_judged = isinstance(decision, EditDecision)
        columns = zip(scored.candidates.texts, scored.scores, decision.probabilities)
        return cls(
            text=decision.text,
            verdict=decision.verdict.value,
            index=decision.index,
            suggestion=None if is_judged else decision.suggestion,
            margin=None if is_judged else decision.margin,
            candidates=[
                Score(text=text, score=score, probability=probability, competes=probability > 0)
                for text, score, probability in columns
            ],
        )


class OfferedProfile(BaseModel):
    """A profile that a request may choose."""

    model_config = ConfigDict(from_attributes=True)

    name: str
    cutoff: float | None = Field(description="None: it does not decide edit by edit.")


class ModelsResponse(BaseModel):
    """The models and settings of this server."""

    model: str
    reranker: str | None
    candidates: int
    threshold: float = Field(description="λ: how much the probability must rise above that of the base candidate.")
    at_least: bool = Field(description="Whether a rise equal to λ is enough.")
    judge: str | None = Field(None, description="The signature of the judge, if it decides edit by edit.")
    cutoff: float | None = Field(None, description="The confidence that an edit must have, if a judge decides.")
    profiles: list[OfferedProfile] = Field(description="The profiles that a request may choose.")
    profile: str | None = Field(None, description="The one of them that the server uses by default.")
    signature: str
    max_characters: int


class HealthResponse(BaseModel):
    """The server works."""

    status: str = "ok"
