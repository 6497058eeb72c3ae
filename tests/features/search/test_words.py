"""Words of an index: BM25 as its formula says, vectors and words together, and indices without words."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.base.errors import ConfigError, DataError
from glassformer.base.json_text import sealed_json
from glassformer.cli.__main__ import main
from glassformer.features.embed import embed
from glassformer.features.search import words
from glassformer.features.search.building import building
from glassformer.features.search.index import SearchIndex
from glassformer.features.search.words import Words, largest, words_of, write_words
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.text.train import train_tokenizer
from tests.contracts.tasks import SENTENCES
from tests.refusals import refused

TEXTS = [
    *SENTENCES,
    "The winters of the north are cold, cold, cold.",
    "",
    "!!!",
    "L\u2019\u00c9T\u00c9 dernier, sugar: \u7cd6",
    "\u0928\u0940\u0932\u093e \u0930\u0902\u0917",
]
QUESTIONS = [
    "cold winters and cold winter",
    "the the and of",
    "ETE \u00e9t\u00e9",
    "\u7cd6",
    "zebra",
    "sugarcane sugary",
]


def bm25(texts: list[str], question: str) -> list[float]:
    """The formula, text by text, in plain Python."""
    counts = [Counter(words_of(text)) for text in texts]
    mean = sum(count.total() for count in counts) / len(texts)
    scores = []
    for count in counts:
        score = 0.0
        for word in words_of(question):
            having = sum(word in each for each in counts)
            rare = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            score += rare * count[word] * 2.5 / (count[word] + 1.5 * (0.25 + 0.75 * count.total() / mean))
        scores.append(score)
    return scores


def written(folder: Path) -> tuple[Words, list[bytes]]:
    folder.mkdir()
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    write_words(folder / "texts.jsonl", folder)
    files = [folder / name for name in (words.WORDS, words.PAIRS, words.LENGTHS)]
    return Words(*map(np.load, files)), [file.read_bytes() for file in files]


def test_scores_are_those_of_the_formula_however_many_texts_are_counted_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, files = written(tmp_path / "one")
    monkeypatch.setattr(words, "_TOGETHER", 7)
    again, same = written(tmp_path / "two")
    assert files == same
    for question in QUESTIONS:
        expected = bm25(TEXTS, question)
        for each in (found, again):
            assert each.scores(question).tolist() == pytest.approx(expected, abs=1e-6)
        order = sorted((-score, row) for row, score in enumerate(expected) if score)
        assert largest(found.scores(question), 3)[1].tolist() == [row for _, row in order][:3]


def test_words_are_those_of_unicode_in_lower_case() -> None:
    assert words_of("The cat\u2019s caf\u00e9, CAFE\u0301!") == ["the", "cat", "s", "caf\u00e9", "caf\u00e9"]
    assert words_of("states State") == ["states", "state", "state"]
    assert words_of("\u0939\u093f\u0928\u094d\u0926\u0940") == [
        "\u0939\u093f\u0928\u094d\u0926\u0940",
        "\u0939\u093f\u0928\u094d\u0926",
    ]
    assert words_of("\u5317\u4eac abc\u7cd6") == ["\u5317", "\u4eac", "\u5317\u4eac", "abc", "\u7cd6"]
    assert words_of(" ... \u2026") == []


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> SearchIndex:
    tokenizer = train_tokenizer("wordpiece", SENTENCES * 3, vocabulary=160)
    module = build(bert(size="tiny", layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=24))
    return SearchIndex.build(tmp_path_factory.mktemp("built") / "index", TEXTS, Model(module, tokenizer, length=16))


def rows(hits: list[Any]) -> list[int]:
    return [hit.row for hit in hits]


def test_both_is_the_weighted_sum_of_cosine_and_share_of_the_best_score(
    built: SearchIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = len(TEXTS)
    for question in QUESTIONS:
        scores = np.array(bm25(TEXTS, question))
        cosines = np.zeros(every)
        for hit in built.ask(question, top=every, by="vectors"):
            cosines[hit.row] = hit.score
        expected = 0.6 * cosines + 0.4 * scores / (scores.max() or 1)
        found = built.ask(question, top=every)
        assert rows(found) == sorted(set(range(every)) - {TEXTS.index("")}, key=lambda row: (-expected[row], row))
        assert [hit.score for hit in found] == pytest.approx([expected[row] for row in rows(found)], abs=1e-6)
        assert rows(built.ask(question, top=every, by="words")) == largest(scores, every)[1].tolist()
        assert rows(built.ask(question, top=2)) == rows(found)[:2]
    # Of few proposed texts those that either proposes are scored by both.
    monkeypatch.setattr("glassformer.features.search.index._PROPOSED", 1)
    first = built.ask(QUESTIONS[0], top=1)
    assert set(rows(first)) <= {built.ask(QUESTIONS[0], top=1, by=by)[0].row for by in ("vectors", "words")}


def test_questions_without_words_and_ways_that_are_none(built: SearchIndex) -> None:
    assert built.ask("zebra", by="words") == []
    assert rows(built.ask("!!!")) == rows(built.ask("!!!", by="vectors"))
    with refused(DataError, got="'!!!'"):
        built.ask("!!!", by="words")
    assert built.answers(["", "winter"], by="words")[0] is None
    with refused(ConfigError, got="'meaning'"):
        built.ask("winter", by="meaning")  # type: ignore[call-overload]  # wrong on purpose


def test_an_index_without_words_opens_and_says_what_to_do(
    built: SearchIndex, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor with a vector for each sentence."""
    old = tmp_path / "old"
    old.mkdir()
    built = SearchIndex.build(tmp_path / "by text", TEXTS, built.model, per="text")
    record = json.loads((built.path / "index.json").read_text())
    for name in ("words", "pairs", "per", "vectors", "checksum"):
        record.pop(name)
    record["checksums"] = {name: record["checksums"][name] for name in ("vectors.npy", "texts.jsonl", "places.npy")}
    for name in record["checksums"]:
        (old / name).write_bytes((built.path / name).read_bytes())
    model = Model(built.model.module, built.model.tokenizer, length=16).save(tmp_path / "model")
    (old / "index.json").write_text(sealed_json({**record, "model": str(model)}))
    found = SearchIndex.open(old, built.model)
    assert found.ask("winter") == built.ask("winter", by="vectors")
    with refused(ConfigError, wanted=str(old), do="search build"):
        found.ask("winter", by="both")
    assert main(["search", "ask", str(old), "winter", "--by", "words"]) == 2
    assert "build it again" in " ".join(capsys.readouterr().err.split())


def test_progress_counts_each_text_whose_words_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_TOGETHER", 7)
    more: list[int] = []
    written(tmp_path / "some")
    write_words(tmp_path / "some" / "texts.jsonl", tmp_path / "some", more.append)
    assert sum(more) == len(TEXTS)
    assert len(more) > 1
    totals: list[int] = []

    @contextmanager
    def counting(total: int) -> Iterator[Callable[[int], object]]:
        totals.append(total)
        yield totals.append

    model = load("english")
    with building(tmp_path / "index", model, counting=counting) as begun:
        begun.file.add(list(embed(model, begun.maker, [({"text": "a stone"}, "")] * 3)), [None] * 3)
    assert totals == [3, 3]
