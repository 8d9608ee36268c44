"""What surrounds the package is true: one version, a citation, CI for each Python, links that lead somewhere."""

import re
from pathlib import Path

import pytest
import yaml

import btr

ROOT = Path(__file__).parents[1]
GITHUB = ROOT / ".github"


def test_the_version_is_one():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    newest = re.search(r"^## (\S+)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert citation["version"] == newest[1] == btr.__version__


def test_the_citation_has_what_its_format_demands():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"cff-version", "message", "title", "authors"} <= set(citation)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", citation["date-released"])
    paper = citation["preferred-citation"]
    assert {"type", "title", "authors"} <= set(paper)
    assert [author["family-names"] for author in paper["authors"]] == ["Zhang", "Kamigaito", "Okumura"]


def test_the_workflow_runs_what_ci_runs_on_every_python():
    workflow = yaml.safe_load((GITHUB / "workflows" / "test.yml").read_text(encoding="utf-8"))
    job = workflow["jobs"]["test"]
    assert job["strategy"]["matrix"] == {"os": ["ubuntu-latest", "macos-latest"], "python": ["3.11", "3.12", "3.13"]}
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o111


@pytest.mark.parametrize("form", sorted((GITHUB / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda path: path.stem)
def test_issue_forms_are_valid(form):
    """By GitHub's schema: a name, a description, and fields of which each has an id and a label."""
    content = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert content["name"]
    assert content["description"]
    for field in content["body"]:
        assert field["type"] in ("input", "textarea", "dropdown", "checkboxes")
        assert re.fullmatch(r"[\w-]+", field["id"])
        assert field["attributes"]["label"]


@pytest.mark.parametrize("name", ["CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_of_the_project_files_lead_somewhere(name):
    for link in re.findall(r"\]\(([^)\s]+)\)", (ROOT / name).read_text(encoding="utf-8")):
        assert "://" in link or (ROOT / link.partition("#")[0]).exists(), link
