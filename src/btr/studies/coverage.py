"""Which rerankers a study measures on which sets, and with how many candidates: the paper's own choice."""

from collections.abc import Callable

from btr.studies.plan import Plan


def has_candidates(plan: Plan, generator: str, dataset: str) -> bool:
    """Return whether there are candidates of a model for a set."""
    candidates = plan.candidates[generator]
    return candidates.model is not None or dataset in candidates.files


def is_measured(plan: Plan, name: str, generator: str, dataset: str) -> bool:
    """Return whether a reranker is measured on a set: variants are not everywhere.

    A larger model's candidates are reranked without variants. On tuning sets but the validation set, only the main
    reranker's variants are compared (the paper's Tables 24 and 25).
    """
    if not has_candidates(plan, generator, dataset):
        return False
    if plan.rerankers[name].variant_of is None:
        return True
    is_tuned_only = dataset in plan.tuning_sets and dataset != plan.validation
    return generator == plan.base and (not is_tuned_only or plan.main_reranker in plan.family(name))


def is_tuned(plan: Plan, name: str, generator: str, dataset: str) -> bool:
    """Return whether a reranker's settings are tuned on a set.

    All are on the validation set; the main reranker and its variants also on the sets that others are tuned on, for the
    base model's candidates.
    """
    if dataset == plan.validation:
        return True
    return dataset in plan.tuning_sets and generator == plan.base and plan.main_reranker in plan.family(name)


def tried_sizes(
    plan: Plan, name: str, generator: str, dataset: str, given: int | None, best: Callable[[], int]
) -> list[int | None]:
    """Return the lists of candidates that a reranker's settings are tuned over on a set; none if they are not.

    A variant, whose a_train is compared, has the first number of candidates on the validation set. A larger model's
    candidates have the number that is `best` for the base model's. `given` is the number that the plan gives.
    """
    sizes = plan.sizes(generator, dataset)
    if not is_tuned(plan, name, generator, dataset):
        return []
    if sizes is None:
        return [None]
    if given is not None:
        return [given]
    if generator != plan.base:
        return [best() if best() in sizes else sizes[0]]
    is_variant = plan.rerankers[name].variant_of is not None
    return [sizes[0]] if is_variant and dataset == plan.validation else list(sizes)
