"""The settings of decoding: the paper's methods (section 3.2) and their options."""

from dataclasses import dataclass

from btr.errors import InputError

METHODS = "beam", "diverse", "top-k", "nucleus"
MAX_LENGTH = 200  # tokens per candidate, as in the paper's predictions; its training data had 128


@dataclass(frozen=True, slots=True)
class DecodingSettings:
    """How candidates are decoded. The defaults are the paper's."""

    method: str = "beam"
    size: int = 5  # candidates per source, and beams
    max_length: int = MAX_LENGTH
    groups: int = 5  # of diverse beam search
    penalty: float = 0.4  # of a token that an earlier group has chosen
    top_k: int = 50
    top_p: float = 0.95
    seed: int = 0
    early_stopping: bool = False  # stop once `size` candidates are complete, though a better one might follow
    length_penalty: float = 1.0  # candidates are ranked by log-probability over length to this power; 0: by itself

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise InputError(f"method must be one of {', '.join(METHODS)}, not {self.method!r}.")
        for name in ("size", "max_length", "groups", "top_k"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be at least 1, not {getattr(self, name)}.")
        if not 0 < self.top_p <= 1:
            raise InputError(f"top_p must be above 0 and at most 1, not {self.top_p:g}.")
        if self.penalty < 0:
            raise InputError(f"the penalty can't be negative, but is {self.penalty:g}.")
        if self.method == "diverse" and self.size % self.groups:
            raise InputError(f"{self.size} candidates can't be divided evenly among {self.groups} groups.")

    def signature(self) -> str:
        """Return what the candidates depend on, beside the model."""
        parts: dict[str, str] = {
            "beam": "",
            "diverse": f"|groups:{self.groups}|penalty:{self.penalty:g}",
            "top-k": f"|k:{self.top_k}|seed:{self.seed}",
            "nucleus": f"|p:{self.top_p:g}|seed:{self.seed}",
        }
        if self.method in ("beam", "diverse") and self.length_penalty != 1:
            parts[self.method] += f"|length-penalty:{self.length_penalty:g}"
        stop = "|early-stopping" if self.early_stopping and self.method in ("beam", "diverse") else ""
        return f"{self.method}|size:{self.size}|max-length:{self.max_length}{parts[self.method]}{stop}"
