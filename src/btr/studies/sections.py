"""The sections of a report, with the tables and figures of each."""

from btr.studies import decision_table, error_tables, figures, result_tables, size_tables, time_table, tuning_tables
from btr.studies.plan import file_stem
from btr.studies.report import Item, Section
from btr.studies.results import Results
from btr.studies.table import NotComputed

BY_METRIC = {  # the paper's tables and figures of the sets that are scored by each metric, but for CoNLL-13's tables
    "m2": ("M2", None, "Figures 4, 8 and 9"),
    "errant": ("ERRANT", "Table 24", "Figures 10 to 12"),
    "gleu": ("GLEU", "Table 25", "Figures 13 to 15"),
}
ONE_MODEL = "the study has candidates of one model only."


def make_sections(results: Results) -> list[Section]:
    """Return the report's sections; a table or figure that can't be computed is replaced by the reason."""
    main = results.plan.main_reranker
    candidates = Section("Candidates", [result_tables.decoding_table(results)])
    training = Section("Training", [figures.training_figure(results, number) for number in ("6", "7")])
    time = Section("Time", [time_table.time_table(results)])
    tables = (size_tables.corpus_table, size_tables.training_table, size_tables.level_sizes)
    sizes = Section("Data", [make(results) for make in tables])
    if main is None:
        reason = "the study names no rerankers."
        missing = NotComputed(
            "Tables 1, 6, 9, 14 to 20, 22 to 26 and 28, figures 3, 4 and 8 to 15", "Reranking", reason
        )
        return [Section("Main results", [*main_tables(results), missing]), candidates, training, time, sizes]
    return [
        Section("Main results", main_section(results, main)),
        candidates,
        Section("Tuning", tuning_section(results, main)),
        Section("By level and type of error", error_section(results)),
        Section("What rerankers do", behaviour_section(results)),
        training,
        time,
        sizes,
        Section("Examples", [result_tables.example_table(results, main)]),
    ]


def is_cleaned_conll14(name: str) -> bool:
    """Return whether a set is the cleaned CoNLL-14, by its name."""
    return "14" in name and "clean" in name.lower()


def has_cleaned_conll14(results: Results, generator: str) -> bool:
    """Return whether there are candidates of a model for the cleaned CoNLL-14; Tables 8 to 10 are then columns."""
    return any(map(is_cleaned_conll14, results.sets_of(generator)))


def larger_models(results: Results) -> list[str]:
    """Return the models whose candidates the study has beside the base model's."""
    return [name for name in results.plan.candidates if name != results.plan.base]


def main_tables(results: Results) -> list[Item]:
    """Return Table 5, and Tables 7 and 27 for each larger model."""
    base = results.plan.base
    number = "Tables 5 and 8" if has_cleaned_conll14(results, base) else "Table 5"
    items: list[Item] = [result_tables.main_results(results, base, number, "table-05")]
    for name in larger_models(results):
        number = "Tables 7, 10 and 27" if has_cleaned_conll14(results, name) else "Tables 7 and 27"
        items.append(result_tables.main_results(results, name, number, f"table-07-{file_stem(name)}"))
    return items


def main_section(results: Results, main: str) -> list[Item]:
    """Return main results, verdicts and seeds."""
    base, larger = results.plan.base, larger_models(results)
    first, *others = main_tables(results)
    is_cleaned = has_cleaned_conll14(results, base)
    is_larger_cleaned = any(has_cleaned_conll14(results, name) for name in larger)
    items: list[Item] = [first, decision_table.decision_table(results)]
    items += others or [NotComputed("Tables 7 and 27", "Candidates of a larger model", ONE_MODEL)]
    if not (is_cleaned and is_larger_cleaned):
        numbers = "Table 10" if is_cleaned else "Tables 8 and 9" if is_larger_cleaned else "Tables 8 to 10"
        model = "a larger model" if is_cleaned else base
        reason = f"there are no candidates of {model} for the cleaned CoNLL-14."
        items.append(NotComputed(numbers, "Cleaned CoNLL-14", reason))
    return [*items, result_tables.seed_table(results, "Tables 9 and 20" if is_cleaned else "Table 20")]


def tuning_section(results: Results, main: str) -> list[Item]:
    """Return the grids."""
    larger: list[Item] = [tuning_tables.larger_grid(results, name) for name in larger_models(results)]
    others = [dataset for dataset in results.plan.tuning_sets if dataset != results.plan.validation]
    return [
        tuning_tables.negatives_grid(results),
        tuning_tables.candidates_grid(results, results.plan.validation),
        tuning_tables.plain_grid(results),
        *(larger or [NotComputed("Table 19", "Larger model", ONE_MODEL)]),
        *(tuning_tables.candidates_grid(results, dataset) for dataset in others),
        tuning_tables.transfer_table(results, main),
    ]


def error_section(results: Results) -> list[Item]:
    """Return the tables by level and type of error, for sets whose metric knows them."""
    base = results.plan.base
    sets = [dataset for dataset in results.sets_of_main() if results.bases[base, dataset].measures.errors]
    items: list[Item] = [
        make(results, dataset) for dataset in sets for make in (error_tables.level_table, error_tables.type_table)
    ]
    reason = "no set of this study is scored by ERRANT."
    return items or [NotComputed("Tables 22 and 23", "Levels and types", reason)]


def behaviour_section(results: Results) -> list[Item]:
    """Return the figures of cross-entropy, probability by rank and λ."""
    plan = results.plan
    sets = [dataset for dataset in plan.sets if dataset in results.transferred]
    tuned = {plan.sets[dataset].metric for dataset in plan.tuning_sets if dataset != plan.validation}
    items: list[Item] = [
        figures.losses_figure(results),
        *(figures.ranks_figure(results, dataset) for dataset in sets),
        *(figures.threshold_figure(results, dataset) for dataset in sets),
    ]
    metrics = {plan.sets[dataset].metric for dataset in sets}
    for metric, (name, tables, numbers) in BY_METRIC.items():
        if metric not in metrics:
            reason = f"{plan.main_reranker} has scores of no set that is scored by {name}."
            items.append(NotComputed(numbers, "Probability by rank and what λ does", reason))
        if tables and metric not in tuned:
            reason = f"no set is tuned on one that is scored by {name} (key tuned_on)."
            items.append(NotComputed(tables, "Tuning", reason))
    return items
