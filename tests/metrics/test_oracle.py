from btr.metrics.oracle import gold_percent, oracle_choice, unique_percent


def test_oracle_takes_the_first_that_is_right():
    assert oracle_choice(["a", "b  c", "b c"], ["b c"]) == "b  c"
    assert oracle_choice(["a", "b", "c"], ["x", "c"]) == "c"
    assert oracle_choice(["a", "b"], ["x"]) == "a"


def test_shares():
    candidates = [["a", "b"], ["a", "c"], ["d", "d"]]
    assert gold_percent(candidates, [["b"], ["x", "c"], ["x"]]) == 100 * 2 / 3
    assert unique_percent(candidates) == 100 * 4 / 6  # a, b, c, d among six
