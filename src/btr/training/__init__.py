"""Training: objectives, data, the loop, recipes and model cards."""

from typing import TYPE_CHECKING

from btr.registry import Registry

if TYPE_CHECKING:
    from btr.training.objective import Objective

# What a model can be trained for: the values of `kind` in a recipe.
OBJECTIVES: "Registry[type[Objective]]" = Registry(
    "btr.objectives",
    {
        "seq2seq": "btr.training.t5_objectives:Seq2Seq",
        "r2l": "btr.training.t5_objectives:RightToLeft",
        "btr": "btr.training.t5_objectives:MaskedTarget",
        "listwise": "btr.training.listwise:Listwise",
        "edit-btr": "btr.training.edit_judging:EditJudging",
        "roberta": "btr.training.encoder_objectives:MaskedPair",
        "bert": "btr.training.encoder_objectives:Grammaticality",
    },
)
