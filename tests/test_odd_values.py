"""Values that a file may have and Python can not convert: each is refused in one sentence (see benchmarks/fuzz.py)."""

import json

import pytest

from btr.corpus import read_candidates, write_lines
from btr.decisions import Settings
from btr.decisions.judge import read_judges
from btr.decisions.settings import read_profiles
from btr.errors import InputError
from btr.models.compact import is_compact
from btr.models.identity import read_object
from btr.records import is_number
from btr.training.recipe import read_recipe
from btr.training.records import read_facts, read_history

NO_FLOAT = 10**400
NESTED = "[" * 100_000


def test_numbers_that_no_float_can_hold_are_refused(tmp_path):
    assert is_number(10**300)
    assert not any(map(is_number, (NO_FLOAT, -NO_FLOAT, float("nan"), float("inf"), True, "1", None)))
    write_lines(tmp_path / "c.jsonl", [json.dumps({"source": "a", "candidates": ["b"], "log_probs": [NO_FLOAT]})])
    with pytest.raises(InputError, match='"log_probs" must be a list of 1 numbers'):
        list(read_candidates(tmp_path / "c.jsonl"))
    with pytest.raises(InputError, match=r"^gap can't be 1000+\.\.\.0+\.$"):
        Settings(gap=NO_FLOAT)
    with pytest.raises(InputError, match="the weights must be finite numbers"):
        Settings(weights={"btr": NO_FLOAT})
    judge = {"features": {"base": NO_FLOAT}, "operations": {}, "types": {}, "intercept": 0, "fitted_on": []}
    (tmp_path / "judge.json").write_text(json.dumps({"judges": [judge]}))
    with pytest.raises(InputError, match="the weights of a judge must be finite"):
        read_judges(tmp_path)


def test_json_that_is_nested_too_deeply_is_refused(tmp_path):
    for name, read in (("judge.json", read_judges), ("profiles.json", lambda path: read_profiles(path.parent))):
        (tmp_path / name).write_text(NESTED)
        with pytest.raises(InputError, match="can't be read as JSON"):
            read(tmp_path / name)
    with pytest.raises(InputError, match="is not JSON"):
        read_object(tmp_path / "judge.json")
    (tmp_path / "run.json").write_text(NESTED)
    with pytest.raises(InputError, match=r"run\.json: is not JSON"):
        read_facts(tmp_path)
    (tmp_path / "config.json").write_text(NESTED)
    assert not is_compact(tmp_path)


def test_numbers_of_a_log_that_no_float_can_hold_are_left_out(tmp_path):
    rows = [{"step": 1, "loss": 2.0}, {"step": 2, "loss": NO_FLOAT}]
    write_lines(tmp_path / "log.jsonl", map(json.dumps, rows))
    assert [update.step for update in read_history(tmp_path).updates] == [1]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (NESTED, "it is nested too deeply"),
        ("seed: 2001-99-99", "month must be in 1..12"),
        (f"seed: {'9' * 5000}", "Exceeds the limit"),
        ("seed: !!int ''", "string index out of range"),
        ("seed: \f", "unacceptable character #x000c: special characters are not allowed"),
    ],
)
def test_yaml_that_python_can_not_convert_is_refused(tmp_path, content, why):
    path = tmp_path / "recipe.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=rf"recipe\.yaml(, line \d+)?: is not valid YAML \({why}.*\)\.$") as raised:
        read_recipe(path)
    assert "\n" not in str(raised.value)


def test_a_value_that_holds_itself_many_times_is_not_written_out(tmp_path):
    bomb = ["a"]
    for _ in range(40):
        bomb = [bomb, bomb]
    with pytest.raises(InputError, match=r"^top can't be \[.*\.\.\..*\]\.$"):
        Settings(top=bomb)
    anchors = "\n".join(f"  - &a{k} [*a{k - 1}, *a{k - 1}]" for k in range(1, 40))
    path = tmp_path / "recipe.yaml"
    path.write_text(f"kind:\n  - &a0 [x]\n{anchors}\n? *a39\n: x\n")
    with pytest.raises(InputError, match="unhashable key"):
        read_recipe(path)
