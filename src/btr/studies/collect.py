"""Collect all results of a study: what the paper measures of each reranker on each set."""

from itertools import product

from btr.decisions.search import rank
from btr.errors import InputError
from btr.studies.coverage import is_measured
from btr.studies.pipeline import Pipeline, name_of
from btr.studies.records import TunedGrid
from btr.studies.results import BestOnSet, LossCurve, RankCurve, Results
from btr.studies.sizes import collect_sizes
from btr.studies.training_runs import read_runs


def collect(pipeline: Pipeline) -> Results:
    """Compute what is missing, and collect all results."""
    plan = pipeline.plan
    results = Results(plan, pretraining=read_runs(plan.pretraining), finetuning=read_runs(plan.finetuning))
    collect_bases(pipeline, results)
    if (main := plan.main_reranker) and not pipeline.files.can_score(plan.rerankers[main], plan.base, plan.validation):
        raise InputError(
            f"the main reranker, {main}, needs log-probabilities, which the candidates of {plan.base} come without; "
            "name another as main."
        )
    for name, (generator, dataset) in product(plan.rerankers, product(plan.candidates, plan.sets)):
        if is_measured(plan, name, generator, dataset):
            collect_reranker(pipeline, results, name, generator, dataset)
    collect_best(pipeline, results)
    for dataset in plan.sets:
        collect_ranks(pipeline, results, dataset)
    for dataset in results.sets_of(plan.base):
        results.examples[dataset] = pipeline.examples(dataset)
    results.losses = collect_losses(pipeline)
    results.sizes = collect_sizes(pipeline)
    return results


def collect_bases(pipeline: Pipeline, results: Results) -> None:
    """Measure the base models' candidates, and the decoding methods."""
    plan = pipeline.plan
    for generator, dataset in product(plan.candidates, plan.sets):
        size = pipeline.files.first_size(generator, dataset)
        if not pipeline.sets[dataset].has_gold:
            if file := pipeline.candidates(generator, dataset, size):
                results.base_seconds[generator, dataset] = file.seconds
        elif base := pipeline.base(plan.candidates[generator], dataset, size):
            results.bases[generator, dataset] = base
    for name, method in plan.decoding.items():
        sizes = method.sizes(plan.validation, plan.top)
        if base := pipeline.base(method, plan.validation, sizes[0] if sizes else None):
            results.decoding[name] = base


def collect_reranker(pipeline: Pipeline, results: Results, name: str, generator: str, dataset: str) -> None:
    """Measure a reranker on a set, with the settings that are best on the validation set; and tune it there."""
    if pipeline.tuned(name, generator, pipeline.plan.validation) is None:
        return
    settings, key = pipeline.settings(name, generator), (name, generator, dataset)
    if not pipeline.sets[dataset].has_gold:
        if ungraded := pipeline.ungraded(name, generator, dataset, settings):
            results.ungraded[key] = ungraded
        return
    if reranked := pipeline.reranked(name, generator, dataset, settings):
        results.reranked[key] = reranked
        collect_list(pipeline, results, generator, dataset, settings.candidates)
    if tuned := pipeline.tuned(name, generator, dataset):
        results.tuned[key] = tuned
        for size in tuned.sizes:
            collect_list(pipeline, results, generator, dataset, size)


def collect_list(pipeline: Pipeline, results: Results, generator: str, dataset: str, size: int | None) -> None:
    """Note the signature of a list of candidates, where there is one for each number of them."""
    if not size or pipeline.plan.sizes(generator, dataset) is None:
        return
    if file := pipeline.candidates(generator, dataset, size):
        results.lists[generator, dataset, size] = name_of(file)


def collect_best(pipeline: Pipeline, results: Results) -> None:
    """Find the best reranker, of the main one and its variants, on each tuning set, and use it on the sets tuned on it.

    On the validation set it is the main reranker itself: the plan has chosen its a_train.
    """
    plan, base = pipeline.plan, pipeline.plan.base
    if (main := plan.main_reranker) is None:
        return
    for dataset in plan.tuning_sets:
        family = [main] if dataset == plan.validation else plan.family(main)
        tuned = {name: results.tuned[name, base, dataset] for name in family if (name, base, dataset) in results.tuned}
        if tuned:
            best = max(tuned, key=lambda name: rank((best_value(tuned[name]), tuned[name].settings)))
            results.best_on[dataset] = BestOnSet(best, tuned[best])
    for dataset in plan.sets:
        best_on = results.best_on.get(plan.tuned_on(dataset))
        if best_on is None:
            continue
        measure = pipeline.reranked if pipeline.sets[dataset].has_gold else pipeline.ungraded
        if result := measure(best_on.reranker, base, dataset, best_on.tuned.settings):
            results.transferred[dataset] = result
            collect_list(pipeline, results, base, dataset, best_on.tuned.settings.candidates)


def best_value(tuned: TunedGrid) -> float:
    """Return the score of the best settings of a grid; given settings may lie outside of it."""
    row = next((k for k, top in enumerate(tuned.tops) if top == tuned.settings.top), 0)
    if tuned.settings.threshold not in tuned.thresholds:
        return tuned.crossed.score
    return tuned.grid[row][tuned.thresholds.index(tuned.settings.threshold)]


def collect_ranks(pipeline: Pipeline, results: Results, dataset: str) -> None:
    """Measure the probabilities by rank of figures 4, 12 and 15: all rerankers over the same list of candidates."""
    plan, base = pipeline.plan, pipeline.plan.base
    best = results.best_on.get(plan.tuned_on(dataset))
    size = pipeline.size_of(best.tuned.settings, base, dataset) if best else None
    for name in plan.rerankers:
        measured = results.reranked.get((name, base, dataset)) or results.ungraded.get((name, base, dataset))
        if measured is None:
            continue
        settings = pipeline.at_size(name, size)
        if settings == measured.settings:
            values = measured.measures.mean_probabilities
        elif ungraded := pipeline.ungraded(name, base, dataset, settings):
            values = ungraded.measures.mean_probabilities
        else:
            continue
        candidates = pipeline.candidates(base, dataset, pipeline.size_of(settings, base, dataset))
        assert candidates is not None
        parts = [
            pipeline.sets[dataset].signature,
            f"candidates:{name_of(candidates)}",
            f"{measured.measures.reranker_signature}|{settings.signature()}",
        ]
        results.ranks[name, dataset] = RankCurve(values, " · ".join(parts))


def collect_losses(pipeline: Pipeline) -> dict[str, LossCurve]:
    """Return the loss curves of the base model and of every reranker with models: seeds' mean, kinds' sum.

    A mixture has none, since its weights are for the scores of whole sentences.
    """
    plan = pipeline.plan
    models = {
        name: reranker.models for name, reranker in plan.rerankers.items() if reranker.models and not reranker.mix
    }
    if model := plan.candidates[plan.base].model:
        models = {plan.base: [f"l2r:{model}"], **models}
    curves: dict[str, LossCurve] = {}
    for name, specs in models.items():
        measured = [losses for losses in map(pipeline.losses, specs) if losses and losses.curve]
        if len(measured) < len(specs):
            continue
        by_kind: dict[str, list[list[float]]] = {}
        for spec, losses in zip(specs, measured):
            by_kind.setdefault(spec.partition(":")[0], []).append(losses.curve)
        means = [[sum(values) / len(values) for values in zip(*seeds)] for seeds in by_kind.values()]
        signature = " + ".join(f"{losses.signature}|targets:{losses.targets}" for losses in measured)
        curves[name] = LossCurve([sum(values) for values in zip(*means)], signature)
    return curves
