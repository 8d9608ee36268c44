"""What a report holds, section by section."""

from btr.studies import decisions, grids, levels, pictures, tables
from btr.studies.plan import slug
from btr.studies.report import Item, Section
from btr.studies.results import Results
from btr.studies.sheets import Gap

OTHERS = {  # the paper's tables and figures of sets of each kind, but for CoNLL-13's tables
    "m2": ("M2", "Figures 4, 8 and 9"),
    "errant": ("ERRANT", "Table 24, figures 10 to 12"),
    "gleu": ("GLEU", "Table 25, figures 13 to 15"),
}


def is_cleaned(name: str) -> bool:
    """Whether a set is the cleaned CoNLL-14, by its name."""
    return "14" in name and "clean" in name.lower()


def contents(results: Results) -> list[Section]:
    """The report's sections, with what each tells; or why it can't."""
    plan, base, chief = results.plan, results.plan.base, results.plan.chief
    sets = [own for own in results.sets_of(base) if (chief, base, own) in results.reranked]
    others = [name for name in plan.candidates if name != base]
    typed = [own for own in sets if results.bases[base, own]["by"]]
    # With the cleaned CoNLL-14, Tables 8 to 10 are columns of others.
    cleaned = [name for name in plan.candidates if any(map(is_cleaned, results.sets_of(name)))]
    larger: list[Item] = [
        tables.main_results(
            results, name, "Tables 7, 10 and 27" if name in cleaned else "Tables 7 and 27", f"table-07-{slug(name)}"
        )
        for name in others
    ]
    both = base in cleaned, any(name in cleaned for name in others)
    lacking = {(False, False): "Tables 8 to 10", (True, False): "Table 10", (False, True): "Tables 8 and 9"}.get(both)
    broken: list[Item] = [make(results, own) for own in typed for make in (levels.level_table, levels.type_table)]
    without = "no set of this study has scores by ERRANT."
    metrics = {plan.sets[own].metric for own in sets}
    absent = [
        Gap(numbers, "Tuning, probability by rank and what λ does", f"{chief} has scores of no set by {name}.")
        for metric, (name, numbers) in OTHERS.items()
        if metric not in metrics
    ]
    alone = "the study has candidates of one model only."
    why = f"there are no candidates of {'a larger model' if both[0] else base} for the cleaned CoNLL-14."
    return [
        (
            "Main results",
            [
                tables.main_results(results, base, "Tables 5 and 8" if base in cleaned else "Table 5", "table-05"),
                decisions.decision_table(results),
                *(larger or [Gap("Tables 7 and 27", "Candidates of a larger model", alone)]),
                *([Gap(lacking, "Cleaned CoNLL-14", why)] if lacking else []),
                tables.seed_table(results, "Tables 9 and 20" if base in cleaned else "Table 20"),
            ],
        ),
        ("Candidates", [tables.decoding_table(results)]),
        (
            "Tuning",
            [
                grids.negatives_grid(results),
                grids.candidates_grid(results, plan.validation),
                grids.plain_grid(results),
                *([grids.larger_grid(results, name) for name in others] or [Gap("Table 19", "Larger model", alone)]),
                *(grids.candidates_grid(results, own) for own in sets if own != plan.validation),
                grids.transfer_table(results),
            ],
        ),
        ("By level and type of error", broken or [Gap("Tables 22 and 23", "Levels and types", without)]),
        (
            "What rerankers do",
            [
                pictures.losses_figure(results),
                *(pictures.ranks_figure(results, own) for own in sets),
                *(pictures.threshold_figure(results, own) for own in sets),
                *absent,
            ],
        ),
        ("Training", [pictures.training_figure(results, number) for number in ("6", "7")]),
        ("Time", [tables.time_table(results)]),
        ("Examples", [tables.example_table(results)]),
    ]
