"""The function `report`: one or more outputs by every metric that the files allow, and on clean text."""

from collections.abc import Sequence
from dataclasses import replace

from btr.corpus.files import PathLike, Paths, as_paths, check_same_length
from btr.errors import InputError
from btr.metrics import METRICS, significance
from btr.metrics.compare import check_resamples, compare_counts, count_outputs
from btr.metrics.gold import Gold, build_gold, open_files
from btr.metrics.hypotheses import at_rank, read_hypotheses
from btr.metrics.inputs import CONTENT, MetricFiles, MetricOptions
from btr.metrics.results import Report, ReportSection
from btr.metrics.unchanged import Unchanged
from btr.wording import count_of


def report(
    systems: Paths,
    *,
    test_set: str | None = None,
    gold: Paths | None = None,
    source: PathLike | None = None,
    reference: Paths | None = None,
    clean: PathLike | None = None,
    clean_output: Paths | None = None,
    rank: int | None = None,
    mode: str | None = None,
    beta: float | None = None,
    resamples: int = significance.RESAMPLES,
    processes: int | None = None,
) -> Report:
    """Score one or more outputs by every metric that the files allow, each output also against the first.

    Gold M2 files allow M2, ERRANT and CLEME's rates; sources with references allow GLEU. `clean` is a text without
    errors, and `clean_output` what each system made of it, in the same order: its changes are false alarms.
    """
    paths, clean_paths = as_paths(systems), as_paths(clean_output)
    if len(paths) > 1:
        check_resamples(resamples)
    check_clean(clean, clean_paths, len(paths))
    files = open_files(test_set, gold, source, reference)
    names, options = metrics_for(files), MetricOptions(beta=beta, mode=mode)
    for option, value in vars(options).items():
        if value is not None and not any(option in METRICS[name].options for name in names):
            raise InputError(f"--{option} is no option of {', '.join(names)}.")
    golds = [build_gold(name, files, own_options(name, options), None, processes) for name in names]
    check_same_sources(golds)
    texts = [at_rank(read_hypotheses([path], golds[0]), rank or 1, path) for path in paths]
    sections = [measure(against, texts, paths, rank, resamples) for against in golds]
    if clean is not None:
        against = build_gold(Unchanged.name, MetricFiles(source=clean), MetricOptions(), None, processes)
        texts = [at_rank(read_hypotheses([path], against), rank or 1, path) for path in clean_paths]
        sections.append(measure(against, texts, clean_paths, rank, resamples))
    return Report(tuple(map(str, paths)), {section.comparison.a.metric: section for section in sections})


def measure(
    against: Gold, texts: Sequence[Sequence[str]], paths: Sequence[PathLike], rank: int | None, resamples: int
) -> ReportSection:
    """Score and compare outputs by one metric, with the intervals of their scores."""
    counts = count_outputs(against.metric, texts, paths)
    comparison = compare_counts(against.metric, texts, counts, paths, rank, resamples)
    intervals = [significance.confidence_percent(against.metric, rows, resamples) for rows in counts if resamples]
    return ReportSection(comparison, tuple(intervals))


def metrics_for(files: MetricFiles) -> list[str]:
    """Return the registered metrics that files allow: those that need no others, and compare with a correction."""
    given = {kind for kind in CONTENT if files.paths(kind)}
    if "reference" in given and "source" not in given:
        files.check("gleu", METRICS["gleu"].needs)
    needs = {name: set(METRICS[name].needs) for name in METRICS.names()}
    names = [name for name, kinds in needs.items() if kinds <= given and kinds & {"gold", "reference"}]
    if not names:
        raise InputError("a report needs --set, --gold with an M2 file, or --source with at least one --reference.")
    return names


def own_options(metric: str, options: MetricOptions) -> MetricOptions:
    """Return those of the options that a metric has."""
    return replace(options, **{name: None for name in vars(options) if name not in METRICS[metric].options})


def check_same_sources(golds: Sequence[Gold]) -> None:
    """Refuse files for several metrics that are not about the same sentences."""
    check_same_length([(against.name, against.metric.size) for against in golds])
    first = golds[0]
    for against in golds[1:]:
        for number in range(first.metric.size):
            if first.metric.source(number).split() != against.metric.source(number).split():
                raise InputError(
                    f"{against.name}, sentence {number + 1}: is not that of {first.name}; a report has one corpus."
                )


def check_clean(clean: PathLike | None, outputs: Sequence[PathLike], systems: int) -> None:
    """Refuse a clean text without an output of each system, and outputs without the text."""
    if clean is None and outputs:
        raise InputError("--clean-output needs --clean, the text without errors that the systems were given.")
    if clean is not None and len(outputs) != systems:
        raise InputError(
            f"--clean needs one --clean-output for each of the {count_of(systems, 'system')}, not {len(outputs)}."
        )
