"""An index with a vector for each sentence: a text is as near to a question as its nearest sentence.

N texts · M sentences · W numbers of a vector
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError, ConfigError, DataError
from glassformer.base.json_text import file_checksum, sealed_json
from glassformer.cli.__main__ import main
from glassformer.cli.vectors.search_ask import called, shown_text
from glassformer.features.embed import embed, vectors_of
from glassformer.features.search.index import Hit, SearchIndex
from tests.contracts.tasks import SENTENCES
from tests.refusals import refused

# Texts of one to seven sentences; each is longer than a row of the model from the second on; and one without any.
PARTS = [[f"{SENTENCES[(n + k) % len(SENTENCES)].capitalize()}." for k in range(n % 7 + 1)] for n in range(12)]
PARTS.insert(3, [])
TEXTS = ["  ".join(parts) for parts in PARTS]
ASKED = ["the dog and the fox", "food for friends", "winter"]


def cosines(model: Model, pooling: str = "mean") -> Any:
    """Of each question with each sentence of each text, from the vectors of given words: N lists of [Q, sentences]."""
    of_words = vectors_of(model, ["last"], [pooling], words=True)
    questions = model.embed(ASKED, pooling=pooling)
    questions = questions / np.linalg.norm(questions, axis=1, keepdims=True)
    found = []
    for text, parts in zip(TEXTS, PARTS, strict=True):
        if not parts:
            found.append(np.full((len(ASKED), 0), 0.0))
            continue
        (each,) = embed(model, of_words, [({"text": text, "words": parts}, "")])
        vectors = each.vectors[of_words.features[0].name]
        found.append(questions @ (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).T)
    return found


@pytest.mark.parametrize("pooling", ["mean", "max"])
@pytest.mark.parametrize("top", [1, 5, 20])
def test_a_text_is_as_near_as_its_nearest_sentence(model: Model, tmp_path: Path, pooling: str, top: int) -> None:
    index = SearchIndex.build(tmp_path / "index", TEXTS, model, pooling=pooling)
    assert len(index) == len(TEXTS)
    assert index.facts.vectors == sum(map(len, PARTS))
    expected = cosines(model, pooling)
    for number, hits in enumerate(index.ask(ASKED, top=top, by="vectors")):
        best = {row: its[number].max() for row, its in enumerate(expected) if PARTS[row]}
        assert len(hits) == min(top, len(best))
        assert len({hit.row for hit in hits}) == len(hits)
        # Vectors of 16 numbers in float32, of which the index has rounded the length.
        assert [hit.score for hit in hits] == pytest.approx(sorted(best.values(), reverse=True)[:top], abs=1e-5)
        for hit in hits:
            assert hit.score == pytest.approx(best[hit.row], abs=1e-5)
            assert hit.text == TEXTS[hit.row]
            assert hit.sentence in PARTS[hit.row]
            same = [part == hit.sentence for part in PARTS[hit.row]]  # a text may have a sentence twice
            assert expected[hit.row][number][same].max() == pytest.approx(best[hit.row], abs=1e-5)


def test_by_both_the_cosine_is_that_of_the_nearest_sentence(model: Model, tmp_path: Path) -> None:
    index = SearchIndex.build(tmp_path / "index", TEXTS, model)
    assert index._words is not None
    expected = cosines(model)
    for number, hits in enumerate(index.ask(ASKED, top=len(TEXTS), by="both")):
        words = index._words.scores(ASKED[number])
        for hit in hits:
            its = expected[hit.row][number]
            cosine = its.max() if len(its) else 0.0
            assert hit.score == pytest.approx(0.6 * cosine + 0.4 * words[hit.row] / words.max(), abs=1e-5)
            assert (hit.sentence is None) == (not PARTS[hit.row])
    assert all(hit.sentence is None for hit in index.ask(ASKED[0], by="words"))


def test_the_vector_of_a_text_is_that_of_its_nearest_sentence(model: Model, tmp_path: Path) -> None:
    index = SearchIndex.build(tmp_path / "index", TEXTS, model)
    (question,) = model.embed(ASKED[:1])
    for hit in index.near(question[None], top=4)[0]:
        vector = index.vector(hit.row, question)
        assert vector @ question / np.linalg.norm(question) == pytest.approx(hit.score, abs=1e-6)
    assert not index.vector(3).any()
    for row in (-1, len(index)):
        with refused(DataError, got=str(row)):
            index.vector(row)
    assert np.linalg.norm(index.vector(4)) == pytest.approx(1, abs=1e-6)


def test_the_command_and_python_build_the_same_and_what_was_stopped_goes_on(
    model: Model, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, texts = model.save(tmp_path / "model"), tmp_path / "texts.jsonl"
    texts.write_text("".join(json.dumps({"text": each}) + "\n" for each in TEXTS))
    command = ["search", "build", str(folder), str(texts), "--out", str(tmp_path / "index")]
    assert main(command) == 0
    assert f"{sum(map(len, PARTS))} sentences" in " ".join(capsys.readouterr().err.split())
    SearchIndex.build(tmp_path / "python", TEXTS, folder)
    for name in ("sentences.npy", "places.npy", "words.npy"):
        assert (tmp_path / "index" / name).read_bytes() == (tmp_path / "python" / name).read_bytes()
    ours, theirs = (SearchIndex.open(tmp_path / name) for name in ("index", "python"))
    # Batches of other sizes round otherwise.
    assert np.abs(ours._vectors - theirs._vectors).max() < 1e-6
    assert main(["search", "ask", str(tmp_path / "index"), ASKED[0], "--json"]) == 0
    (record,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {hit["sentence"] for hit in record["hits"]} <= {None, *(part for parts in PARTS for part in parts)}


@pytest.mark.parametrize("pooling", ["first", "last-token"])
def test_a_pooling_of_one_token_has_a_vector_for_each_text(model: Model, tmp_path: Path, pooling: str) -> None:
    index = SearchIndex.build(tmp_path / "index", TEXTS, model, pooling=pooling)
    assert index.facts.per == "text"
    assert all(hit.sentence is None for hit in index.ask(ASKED[0]))
    with refused(ConfigError, wanted="mean or max", got=pooling):
        SearchIndex.build(tmp_path / "other", TEXTS, model, pooling=pooling, per="sentence")
    bad: Any = "word"
    with refused(ConfigError, got="word"):
        SearchIndex.build(tmp_path / "other", TEXTS, model, per=bad)


@pytest.mark.parametrize(
    ("column", "value"), [(0, 99), (0, -1), (1, -1), (2, 0)], ids=["no such text", "before all", "before it", "empty"]
)
def test_sentences_that_do_not_fit_the_texts_are_refused(model: Model, tmp_path: Path, column: int, value: int) -> None:
    """Also where the checksums are right."""
    path = tmp_path / "index"
    SearchIndex.build(path, TEXTS, model)
    spans = np.load(path / "sentences.npy")
    spans[-1 if value == 99 else 0, column] = value
    with (path / "sentences.npy").open("r+b") as file:
        file.seek(-spans.nbytes, 2)
        file.write(spans.tobytes())
    facts = json.loads((path / "index.json").read_text())
    facts.pop("checksum")
    facts["checksums"]["sentences.npy"] = file_checksum(path / "sentences.npy")
    (path / "index.json").write_text(sealed_json(facts))
    with refused(CheckpointError, got="sentences.npy"):
        SearchIndex.open(path, model)


@pytest.mark.parametrize(
    ("text", "sentence", "shown"),
    [
        ("It rained.  The wall\nfell.", "It rained.", "It rained. …"),
        ("It rained. The wall fell.", "The wall\nfell.", "… The wall fell."),
        ("It rained. It fell. It stood.", "It fell.", "… It fell. …"),
        ("It rained.", None, "It rained."),
        ("a" * 200, None, "a" * 160 + "…"),
    ],
)
def test_an_ellipsis_is_where_the_text_goes_on(text: str, sentence: str | None, shown: str) -> None:
    assert shown_text(Hit(1, 0.5, 0, text, None, sentence)) == shown


@pytest.mark.parametrize(("given", "shown"), [("a1", "a1"), (7, "7"), ({"x": 1}, '{"x": 1}'), (None, "row 1,000")])
def test_a_hit_is_called_by_its_id_as_in_its_file_or_by_its_row(given: Any, shown: str) -> None:
    assert called(Hit(1, 0.5, 1000, "It rained.", given)) == shown
