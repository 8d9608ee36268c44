"""The paper's tables of data: Table 4 (corpora), Table 13 (training data by a_train), Table 21 (levels)."""

from btr.studies.results import Results
from btr.studies.table import EMPTY, Cell, ColumnGroup, NotComputed, Row, Table


def corpus_table(results: Results) -> Table | NotComputed:
    """Make Table 4: the size of every corpus."""
    if results.sizes is None:
        return NotComputed("Table 4", "Sizes of the corpora", "the corpora were not counted.")
    rows = [
        Row(size.name, [Cell(size.usage, None, None, size.signature), count_cell(size.count, size.signature)])
        for size in results.sizes.corpora
    ]
    notes = ["Training files: pairs, or paragraphs for pre-training, before long ones are left out. Sets: sentences."]
    groups = [ColumnGroup(None, ["usage", "# of data"])]
    signatures = {size.name: size.signature for size in results.sizes.corpora}
    return Table("table-04", "Table 4", "Sizes of the corpora.", "Dataset", groups, rows, notes, signatures)


def training_table(results: Results) -> Table | NotComputed:
    """Make Table 13: the pairs that models were trained on, negatives included, by a_train."""
    title = "Pairs of a source and a target that models were trained on, by a_train"
    sizes = results.sizes.training if results.sizes else []
    if not sizes:
        reason = "the study names no runs (key finetuning) whose prepared data is there."
        return NotComputed("Table 13", title, reason)
    kinds = list(dict.fromkeys(size.kind for size in sizes))
    counted = {(size.negatives, size.kind): count_cell(size.pairs, size.signature) for size in sizes}
    rows = [
        Row(str(negatives), [counted.get((negatives, kind), EMPTY) for kind in kinds])
        for negatives in sorted({size.negatives for size in sizes})
    ]
    notes = ["Gold and the candidates that are negatives; pairs that are longer than the recipe allows are left out."]
    signatures = {f"{size.kind}, {size.negatives}": size.signature for size in sizes}
    return Table("table-13", "Table 13", f"{title}.", "a_train", [ColumnGroup(None, kinds)], rows, notes, signatures)


def level_sizes(results: Results) -> Table | NotComputed:
    """Make Table 21: the sentences of each level."""
    title = "Sentences of each level"
    if results.sizes is None or not results.sizes.levels:
        reason = "no set has levels: several gold files, or the key levels."
        return NotComputed("Table 21", title, reason)
    sizes, first = results.sizes, next(iter(results.sizes.levels))
    rows = [
        Row(f"{dataset}, {level}", [count_cell(count, sizes.signatures[dataset])], k == 0 and dataset != first)
        for dataset, levels in sizes.levels.items()
        for k, (level, count) in enumerate(levels.items())
    ]
    signatures = {dataset: sizes.signatures[dataset] for dataset in sizes.levels}
    groups = [ColumnGroup(None, ["# of data"])]
    return Table("table-21", "Table 21", f"{title}.", "Set, level", groups, rows, (), signatures)


def count_cell(count: int | None, signature: str) -> Cell:
    """Return a number of sentences, if it is known."""
    return EMPTY if count is None else Cell(f"{count:,}", count, None, signature)
