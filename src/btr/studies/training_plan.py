"""What a study trains and generates before candidates are reranked, in the order of the plan."""

from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from btr.training.recipe import Part


class StagePlan(Part):
    """A stage of the training: a recipe that is trained, or a file of pairs whose candidates are written."""

    train: str | None = None  # the recipe
    seeds: list[int] = Field([])  # one run per seed; the second run's folder ends in its seed, e.g. runs/btr-2
    changes: dict[str, Any] = Field({})  # what replaces the recipe's keys, e.g. data.candidates
    generate: str | None = None  # the pairs or sentences
    model: str | None = None  # that writes their candidates
    size: int = Field(5, gt=0)
    max_length: int = Field(128, gt=0)  # tokens of a candidate; the paper's for training
    output: str  # the run's folder, or the candidates file

    @model_validator(mode="after")
    def _one_kind(self) -> "StagePlan":
        if bool(self.train) == bool(self.generate):
            raise ValueError("say either train, a recipe, or generate, the file whose candidates are written")
        if self.generate and (not self.model or self.seeds or self.changes):
            raise ValueError("generate needs the model, and takes neither seeds nor changes")
        if self.train and self.model:
            raise ValueError("the model of a training run is in its recipe; change it with changes: {model: ...}")
        return self

    @property
    def runs(self) -> list[tuple[str, dict[str, Any]]]:
        """The folder of each run, and what it changes in the recipe."""
        if not self.seeds:
            return [(self.output, self.changes)]
        folder = Path(self.output)
        return [
            (str(folder if k == 0 else folder.with_name(f"{folder.name}-{seed}")), {**self.changes, "seed": seed})
            for k, seed in enumerate(self.seeds)
        ]
