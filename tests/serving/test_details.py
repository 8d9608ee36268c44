"""The details of the page: candidates, f, and the paper's rule."""

import pytest
from paged import TEXT, correct, expect, marks, open_page, slide, text_box
from scripted import Opposed, Scripted
from served import scripted, served

from btr.candidates.engine import Hypothesis


@pytest.fixture
def ruled(browser):
    """A page whose server decides by the paper's rule, with its details open."""
    with served(scripted()) as address:
        for page in open_page(browser, address):
            page.locator("#details > summary").click()
            yield page


def sentences(page):
    return page.locator("#sentences details")


def test_the_threshold_works_at_once(ruled):
    correct(ruled)
    expect(ruled.locator("#models")).to_have_text("scripted, reranked by opposed")
    expect(ruled.locator("#sureness")).to_be_hidden()  # the rule has no confidence per edit
    before = len(ruled.requested)
    slide(ruled, "Threshold λ", 0.5)
    expect(marks(ruled)).to_have_count(0)
    expect(ruled.get_by_role("status")).to_have_text("No corrections.")
    slide(ruled, "Threshold λ", 0.97)
    expect(marks(ruled)).to_have_text(["has", "dog", "go"])
    expect(ruled.locator("#types li")).to_contain_text(["singular or plural", "wording", "subject–verb agreement"])
    assert len(ruled.requested) == before


def test_candidates_of_a_sentence(ruled):
    correct(ruled)
    first = sentences(ruled).first
    first.locator("summary").click()
    expect(first).to_contain_text("rejected")
    expect(first).to_contain_text("margin 0.964")
    base, other = first.locator(".candidate").all()
    expect(base).to_contain_text("f 0.018base candidatechosen")
    expect(other).to_contain_text("f 0.982reranker")
    base.click()  # puts it into the text
    expect(text_box(ruled)).to_have_value("I have one dogs 😀. It go.")
    ruled.keyboard.press("Control+z")
    expect(text_box(ruled)).to_have_value(TEXT)


class Undecided(Opposed):
    """Prefers the source only slightly, and that of a question still less."""

    def scores(self, rows):
        return [
            tuple(score / (800 if "?" in row.source else 250) for score in scores)
            for row, scores in zip(rows, super().scores(rows))
        ]


def test_the_page_shows_what_the_server_chose(browser):
    """The margins are 0.008 and 0.0025, and the threshold lies between two steps of the slider."""
    with served(scripted(reranker=Undecided(), threshold=0.005)) as address:
        for page in open_page(browser, address):
            correct(page, "I has it. Is it the dog?")
            expect(marks(page)).to_have_text(["the dog"])
            page.locator("#details > summary").click()
            expect(page.locator("#threshold-value")).to_have_text("0.005")
            slide(page, "Threshold λ", 0.02)
            expect(marks(page)).to_have_text(["has", "the dog"])


class Talkative(Scripted):
    """Writes two more candidates: one too many to compete, and a runaway."""

    def generate(self, sources, settings):
        more = [Hypothesis(*self.encode([text]), -9.0) for text in ("Me have it .", "so " * 50)]
        return [[*hypotheses, *more] for hypotheses in super().generate(sources, settings)]


def test_candidates_that_do_not_compete_say_so(browser):
    with served(scripted(Talkative(), size=4, top=2)) as address:
        for page in open_page(browser, address):
            correct(page, "I has it.")
            page.locator("#details > summary").click()
            sentences(page).locator("summary").click()
            _, source, other, runaway = page.locator(".candidate").all()
            expect(source).to_contain_text("f 0.982")
            expect(other).to_contain_text("does not compete")
            expect(runaway).to_contain_text("does not competerunaway")
            expect(runaway).to_be_disabled()
            other.click()
            expect(text_box(page)).to_have_value("Me have it.")
