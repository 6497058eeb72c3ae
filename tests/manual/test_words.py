"""Start, Learn and Do are easy to read: Flesch's reading ease, and the lengths of sentences."""

from pathlib import Path

import pytest

from manual.stage import DOCS
from manual.words import EASIEST, LONGEST, ease, pages, sentences

pytest.importorskip("textstat")


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(DOCS).as_posix())
def test_a_page_is_easy_to_read(path: Path) -> None:
    found = ease(path.read_text(encoding="utf-8"))
    assert found.long == []
    assert found.flesch is None or found.flesch >= EASIEST


def test_code_tables_headings_and_citations_are_left_out() -> None:
    page = (
        "# A heading\n\nWe cut `a.b` at 0.5 (Devlin et al. 2019, §3). It ends\nhere.\n\n- an item\n- another one. "
        "glassformer stops.\n\n| a | b |\n|---|---|\n| c | d |\n\n```sh\nrun this. And that.\n```\n"
    )
    assert sentences(page) == [
        "We cut Code at 05 .",
        "It ends here.",
        "an item",
        "another one.",
        "glassformer stops.",
    ]


def test_a_long_sentence_and_hard_words_are_found() -> None:
    long = "We go on and on " * 9
    assert ease(f"{long.strip()}.\n\n{'Run. ' * 50}").long == [f"{long.strip()}."]
    assert len(long.split()) > LONGEST
    hard = "Institutional considerations necessitate administrative reorganization. " * 12
    easy = "The cat sat on the mat and did not move at all. " * 12
    # 206.835 − 1.015 · words per sentence − 84.6 · syllables per word (Flesch 1948): eleven words of one syllable each.
    found = ease(easy).flesch, ease(hard).flesch
    assert found[0] == pytest.approx(206.835 - 1.015 * 12 - 84.6, abs=2.0)  # rounding of the word counts
    assert found[1] is not None
    assert found[1] < EASIEST
