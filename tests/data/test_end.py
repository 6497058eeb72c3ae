"""The end of a text as what is held out: a stated share, cut between words, nothing lost and nothing twice."""

import random
from pathlib import Path

import pytest

from glassformer.data.readers.read import Document
from glassformer.data.settings import CorpusSection
from glassformer.data.stores.corpus import prepare, resolve_shares, training_texts
from glassformer.data.stores.split import parted
from glassformer.text.tokenizer import Tokenizer

SENTENCE = "The quick brown fox number {} jumps over the lazy dog. "


def paragraph(first: int, count: int) -> str:
    return "".join(SENTENCE.format(number) for number in range(first, first + count)).strip()


def written(path: Path, paragraphs: list[str]) -> CorpusSection:
    path.write_text("\n\n".join(paragraphs), encoding="utf-8")
    return CorpusSection(files=(str(path),))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_of_few_paragraphs_a_tenth_is_held_out_and_it_is_said(tokenizer: Tokenizer, tmp_path: Path, count: int) -> None:
    paragraphs = [paragraph(100 * number, 20) for number in range(count)]
    section = written(tmp_path / "notes.txt", paragraphs)
    shares = resolve_shares(section)
    assert shares == {"validation": 0.0, "test": 0.0, "end": 0.1}
    learned = list(training_texts(section, shares))
    text = "".join(paragraphs)
    assert text.startswith("".join(learned))  # the end, and nothing of it is learned
    assert len("".join(learned)) == pytest.approx(0.9 * len(text), abs=len(SENTENCE))
    assert learned[-1].rstrip().endswith(".")
    corpus = prepare(section.model_copy(update=shares), tokenizer, tmp_path / "cache", shares=shares)
    assert corpus.stores["train"].documents == count
    assert corpus.stores["validation"].documents == 1
    assert "10%" in corpus.notes()[0]
    again = section.model_copy(update=shares)
    assert resolve_shares(again) == shares == again.shares


def test_many_documents_and_repeats_are_split_as_before(tmp_path: Path) -> None:
    many = written(tmp_path / "many.txt", [paragraph(100 * number, 3) for number in range(30)])
    assert "end" not in resolve_shares(many)
    repeated = written(tmp_path / "repeated.txt", [paragraph(0, 20), paragraph(100, 20), paragraph(0, 20)])
    assert "end" not in resolve_shares(repeated)
    assert "end" not in resolve_shares(many.model_copy(update={"test": 0.1}))


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_and_the_share_is_near(seed: int) -> None:
    """Also where a long document comes in parts."""
    rng = random.Random(seed)
    words = [["a", "bc.", "d\n", "efg", "h!\n\n"][rng.randrange(5)] for _ in range(800)]
    parts = [" ".join(words[at : at + 90]) for at in range(0, len(words), 90)]
    given = [Document(part, "here", continued=number % 3 > 0) for number, part in enumerate(parts)]
    end = rng.choice([0.03, 0.2, 0.5])
    found = list(parted(lambda: iter(given), end))
    assert "".join(each.text for _, each in found) == "".join(parts)
    splits = [split for split, _ in found]
    assert splits == sorted(splits)  # training first
    held_out = [each for split, each in found if split == "validation"]
    share = sum(len(each.text) for each in held_out) / sum(map(len, parts))
    assert end / 2 <= share <= 1.5 * end + 0.01
    assert not held_out[0].continued


def test_a_text_without_blanks_is_cut_all_the_same() -> None:
    found = list(parted(lambda: [Document("字" * 1000, "here")], 0.1))
    assert [(split, len(each.text)) for split, each in found] == [("train", 900), ("validation", 100)]
    chinese = list(parted(lambda: [Document("你好。" * 300, "here")], 0.1))
    assert all(each.text.endswith("。") for _, each in chinese)
