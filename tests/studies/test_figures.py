from btr.decisions.settings import Settings
from btr.decisions.tune import Tuned, TunedModel
from btr.metrics.results import Score
from btr.studies.figures import scores_without_threshold
from btr.studies.plots import draw_grids, draw_training
from btr.training.records import History, Measures, Update, Validation


def run(gold, *values, plain=True):
    """A run of as many validations; `plain` says whether they tell the score without a threshold."""
    validations = [
        Validation(
            k,
            k,
            Measures({"f0.5": value + 5}, grid={"0.0": value} if plain else {}, signature=f"m2|gold:{gold}|beta:0.5"),
        )
        for k, value in enumerate(values, 1)
    ]
    return History([Update(k, 1 / k) for k in (1, 2, 3)], validations)


def test_only_runs_that_can_be_compared_have_scores():
    """Without λ, and with the same gold."""
    histories = {
        "A": run("x.m2#1", 30.0, 31.0),
        "B": run("y.m2#2", 40.0),
        "C": run("x.m2#1", 32.0),
        "D": run("x.m2#1", 50.0, plain=False),
    }
    validated = scores_without_threshold(histories)
    assert validated.gold == "x.m2#1"
    assert validated.curves == {"A": ([1, 2], [30.0, 31.0]), "C": ([1], [32.0])}
    assert scores_without_threshold({"D": histories["D"]}) is None
    assert scores_without_threshold({"B": histories["B"]}) is None  # one value is no curve
    loss, score = draw_training(histories, validated.curves).axes
    assert [line.get_label() for line in loss.lines] == ["A", "B", "C", "D"]  # all have the same colours in both
    assert [list(line.get_ydata()) for line in score.lines] == [[30.0, 31.0], [], [32.0], []]


def test_the_legend_has_its_own_height():
    heights = [draw_training(dict.fromkeys("ABCDEFGH"[:size], run("x")), {}).get_figheight() for size in (2, 4, 8)]
    assert heights[0] < heights[1] < heights[2]


def score(value):
    return Score("m2", {"f0.5": value}, {}, "m2", "f0.5", "M2", {"f0.5": "F0.5"})


def test_a_grid_shows_what_differs_from_the_base():
    """Grey, that is masked, where nothing is accepted; and a frame around the best cell."""
    model = TunedModel(
        best=Settings(top=5, threshold=0.0),
        best_score=score(42.0),
        cross_validated=score(41.0),
        fold_settings=(),
        gain=1.0,
        interval=(0.0, 2.0),
        p=0.5,
        scores="x.jsonl",
        reranker="mbr",
        tops=(2, 5),
        grid=((41.0, 40.0), (42.0, 40.0)),
        changed=((True, False), (True, False)),
    )
    tuned = Tuned(score(40.0), (0.0, 1.0), (model,), "m2")
    (axes,) = draw_grids(tuned).axes
    shown = axes.images[0].get_array()
    assert shown.mask.tolist() == [[False, True], [False, True]]
    assert shown[:, 0].tolist() == [1.0, 2.0]
    assert [text.get_text() for text in axes.texts] == ["41.0", "40.0", "42.0", "40.0"]
    assert axes.lines[0].get_xydata().tolist() == [[0, 1]]
