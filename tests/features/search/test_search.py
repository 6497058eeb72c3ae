"""An index of texts: exact, whole or absent, and true to its model."""

import csv
import importlib.util
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    GlassformerError,
    MissingExtraError,
    ShapeError,
)
from glassformer.base.json_text import file_checksum, sealed_json
from glassformer.cli.__main__ import main
from glassformer.features.search import nearest as nearest_module
from glassformer.features.search.index import SearchIndex
from glassformer.features.search.nearest import Exact, Faiss, nearest
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.text.train import train_tokenizer
from tests.contracts.tasks import SENTENCES
from tests.refusals import refused

TEXTS = [f"{sentence} {number}" for number in range(4) for sentence in SENTENCES]


@pytest.fixture
def saved(model: Model, tmp_path: Path) -> Path:
    return model.save(tmp_path / "model")


def drawn(rows: int, width: int, seed: int) -> Any:
    vectors = np.random.default_rng(seed).normal(size=(rows, width)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@pytest.mark.parametrize("top", [1, 7, 500])
def test_the_exact_search_is_what_sorting_all_of_them_gives(monkeypatch: pytest.MonkeyPatch, top: int) -> None:
    monkeypatch.setattr(nearest_module, "_BLOCK", 37)
    monkeypatch.setattr(nearest_module, "_QUESTIONS", 3)
    vectors, questions = drawn(200, 8, 0), drawn(10, 8, 1)
    vectors[150:170] = vectors[10:30]  # equal ones, in other blocks: the smaller row first
    scores, rows = Exact(vectors).find(questions, top)
    products = questions @ vectors.T
    exact = questions.astype(np.float64) @ vectors.T.astype(np.float64)
    for number in range(10):
        order = sorted(range(200), key=lambda row: (-products[number][row], row))[:top]
        assert np.abs(scores[number] - exact[number][rows[number]]).max() <= 1e-6
        # Where the products differ by more than rounding, the rows are those of the sorting.
        for ours, theirs in zip(rows[number].tolist(), order, strict=True):
            assert ours == theirs or abs(exact[number][ours] - exact[number][theirs]) <= 1e-6
    assert rows.shape == (10, min(top, 200))
    assert Exact(vectors).find(questions[:0], top)[0].shape == (0, min(top, 200))


def test_equal_vectors_come_in_the_order_of_their_rows() -> None:
    vectors = np.repeat(drawn(1, 4, 0), 9, axis=0)
    assert Exact(vectors).find(vectors[:1], 5)[1].tolist() == [[0, 1, 2, 3, 4]]


def test_faiss_finds_the_same_where_it_is_installed() -> None:
    """Equal wherever the scores differ by more than 1e-6. Runs only where faiss is there: no double stands for it."""
    pytest.importorskip("faiss")
    vectors, questions = drawn(5000, 64, 0), drawn(50, 64, 1)
    vectors[4000:4500] = vectors[:500]
    ours, theirs = Exact(vectors).find(questions, 20), Faiss(vectors).find(questions, 20)
    assert np.abs(ours[0] - theirs[0]).max() <= 1e-6
    exact = questions.astype(np.float64) @ vectors.T.astype(np.float64)
    for number in range(50):
        for one, two in zip(ours[1][number], theirs[1][number], strict=True):
            assert one == two or abs(exact[number][one] - exact[number][two]) <= 1e-6
    assert isinstance(nearest(vectors), Faiss)


def test_scores_that_differ_by_rounding_are_equal_and_empty_rows_are_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors, noise = drawn(300, 8, 0), np.random.default_rng(2)
    twins = [5, 40, 41, 90, 200, 299]
    vectors[twins] = vectors[5] + noise.normal(scale=2e-8, size=(6, 8)).astype(np.float32)
    asked = vectors[5:6] + 0
    vectors[7] = 0
    for block in (37, 1 << 16):
        monkeypatch.setattr(nearest_module, "_BLOCK", block)
        for top in (1, 3, 6):
            assert Exact(vectors, [7]).find(asked, top)[1].tolist() == [twins[:top]]
        found = Exact(vectors, [7]).find(-asked, 400)[1]
        assert found.shape == (1, 299)
        assert 7 not in found
        assert found[0, -6:].tolist() == twins


def test_faiss_is_asked_for_and_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with refused(MissingExtraError, wanted="faiss-cpu"):
        nearest(drawn(3, 4, 0), "faiss")
    assert isinstance(nearest(drawn(3, 4, 0)), Exact)


def test_an_index_finds_what_cosines_say(model: Model, tmp_path: Path) -> None:
    index = SearchIndex.build(tmp_path / "index", TEXTS, model, strategy="last", per="text", backend="exact")
    assert len(index) == len(TEXTS)
    asked = ["the dog and the fox", "food for friends"]
    vectors, questions = model.embed(TEXTS), model.embed(asked)
    cosines = (questions @ vectors.T) / np.linalg.norm(questions, axis=1)[:, None] / np.linalg.norm(vectors, axis=1)
    for hits, expected in zip(index.ask(asked, top=6, by="vectors"), cosines, strict=True):
        assert [hit.rank for hit in hits] == [1, 2, 3, 4, 5, 6]
        assert [hit.score for hit in hits] == pytest.approx(sorted(expected, reverse=True)[:6], abs=1e-6)
        assert all(hit.text == TEXTS[hit.row] for hit in hits)
        assert all(hit.score == pytest.approx(expected[hit.row], abs=1e-6) for hit in hits)
    again = SearchIndex.open(tmp_path / "index", model)
    assert again.ask(asked[0], top=3) == index.ask(asked[0], top=3)
    assert "20 texts" in repr(index)
    with refused(DataError, got="''"):
        index.ask("")


def test_an_index_of_another_model_an_empty_and_a_damaged_one_are_refused(
    model: Model, saved: Path, tmp_path: Path
) -> None:
    out = tmp_path / "index"
    with refused(DataError, got="none"):
        SearchIndex.build(out, [], model)
    assert not out.exists()
    SearchIndex.build(out, TEXTS, gf.load(saved))
    other = gf.load(saved)
    next(other.module.parameters()).data += 1e-3
    with refused(CheckpointError, got="another", do="--model"):
        SearchIndex.open(out, other)
    with refused(DataError, got=str(out)):
        SearchIndex.build(out, TEXTS, model)
    saved.rename(tmp_path / "elsewhere")
    with refused(CheckpointError, do="--model"):
        SearchIndex.open(out)
    assert len(SearchIndex.open(out, gf.load(tmp_path / "elsewhere"))) == len(TEXTS)
    data = bytearray((out / "vectors.npy").read_bytes())
    data[-3] ^= 1
    (out / "vectors.npy").write_bytes(data)
    with refused(CheckpointError, wanted=str(out), got="vectors.npy"):
        SearchIndex.open(out, model)
    with refused(CheckpointError, wanted=str(tmp_path / "none"), do="search build"):
        SearchIndex.open(tmp_path / "none", model)


Change = Callable[[Path, dict[str, Any]], object]
OBJECTS = b"{'descr': '|O', 'fortran_order': False, 'shape': (20,), }".ljust(117) + b"\n"
HEADER = np.lib.format.magic(1, 0) + b"\x76\0" + OBJECTS
VECTORS = {"no bytes": b"", "text": b"vectors", "objects": HEADER + b"\x80\x04N." * 99, "a zip": b"PK\x03\x04" * 99}


def bytes_of_vectors(data: bytes) -> Change:
    return lambda at, stated: (at / "vectors.npy").write_bytes(data)


def other(**facts: Any) -> Change:
    return lambda at, stated: stated.update(facts)


def without(name: str) -> Change:
    return lambda at, stated: stated.pop(name)


def changed(name: str, change: Callable[[Any], Any]) -> Change:
    """The numbers of a file changed, and written as they were."""

    def write(at: Path, stated: dict[str, Any]) -> None:
        numbers = np.load(at / name)
        np.save(at / name, np.ascontiguousarray(change(numbers)).astype(numbers.dtype))

    return write


CONTENTS: dict[str, Change] = {
    **{f"vectors: {of}": bytes_of_vectors(data) for of, data in VECTORS.items()},
    "vectors of another length": lambda at, own: np.save(at / "vectors.npy", np.full((20, 16), 3, np.float32)),
    "vectors that are not finite": lambda at, own: np.save(at / "vectors.npy", np.full((20, 16), np.nan, np.float32)),
    "vectors of other texts": lambda at, own: np.save(at / "vectors.npy", drawn(21, 16, 0)),
    "vectors of another width": lambda at, own: np.save(at / "vectors.npy", drawn(20, 4, 0)),
    "another width": other(width=4),
    "numbers of 64 bits": lambda at, own: np.save(at / "vectors.npy", drawn(20, 16, 0).astype(np.float64)),
    "places after the end": lambda at, own: np.save(at / "places.npy", np.arange(21) * 10**9),
    "places that go back": lambda at, own: np.save(at / "places.npy", -np.arange(21)),
    "no file of texts": lambda at, own: (at / "texts.jsonl").unlink(),
    "an empty row": other(empty=[3]),
    "no file of words": lambda at, own: (at / "words.npy").unlink(),
    "no checksum of words": lambda at, own: own["checksums"].pop("pairs.npy"),
    "words that are objects": lambda at, own: (at / "words.npy").write_bytes(HEADER + b"\x80\x04N." * 99),
    "words that fall": changed("words.npy", lambda words: words[:, ::-1]),
    "pairs that end later": changed("words.npy", lambda words: np.add(words, [[0], [1]])),
    "a word without a pair": changed("words.npy", lambda words: words * [[1], [0]]),
    "a text that is none": changed("pairs.npy", lambda pairs: np.add(pairs, [20, 0])),
    "a text before the first": changed("pairs.npy", lambda pairs: pairs - [20, 0]),
    "a word that is nowhere": changed("pairs.npy", lambda pairs: pairs * [1, 0]),
    "lengths of other texts": changed("lengths.npy", lambda lengths: lengths + 1),
    "more words": other(words=10**6),
    "more pairs": other(pairs=0),
    "a row that is none": other(empty=[-1]),
    "a checksum of another file": lambda at, own: own["checksums"].update({"../model/glassformer.json": "00000000"}),
    "a checksum too few": lambda at, own: own["checksums"].popitem(),
    "a mix of other layers": other(mix={"weights": [1.0], "scale": 1.0, "shares": []}),
    "a mix that is none": other(mix=[1]),
    **{f"no {name}": without(name) for name in ("digest", "texts", "empty", "model")},
    **{f"{name} is a list": other(**{name: [1, {}]}) for name in ("width", "pooling")},
    "an unknown strategy": other(strategy="none"),
    "an unknown pooling": other(pooling="none"),
    "a number beyond 64 bits": other(texts=10**30),
}


def sealed(index: Path, record: dict[str, Any]) -> None:
    """Write what an index knows of itself, with checksums that fit."""
    for name in record.get("checksums", ()):
        if (index / name).is_file():
            record["checksums"][name] = file_checksum(index / name)
    (index / "index.json").write_text(sealed_json({each: of for each, of in record.items() if each != "checksum"}))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Model]:
    tokenizer = train_tokenizer("wordpiece", SENTENCES * 3, vocabulary=160)
    module = build(bert(size="tiny", layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=24))
    model, path = Model(module, tokenizer, length=16), tmp_path_factory.mktemp("built") / "index"
    SearchIndex.build(path, TEXTS, model)
    return path, model


@pytest.mark.parametrize("content", CONTENTS)
def test_an_index_whose_checksums_fit_and_whose_content_does_not_is_refused(
    built: tuple[Path, Model], tmp_path: Path, content: str
) -> None:
    index = Path(shutil.copytree(built[0], tmp_path / "index"))
    record = json.loads((index / "index.json").read_text())
    CONTENTS[content](index, record)
    sealed(index, record)
    with pytest.raises(GlassformerError) as caught:
        SearchIndex.open(index, built[1])
    assert type(caught.value) in (CheckpointError, ConfigError)
    assert "\n" not in str(caught.value)


LINES = [b"\xff", b"[]", b"{}", b'{"text": 3}', b'{"text": "\\ud800"}', b"[" * 9999, b"1" * 9999]


@pytest.mark.parametrize("line", LINES)
def test_a_text_of_an_index_that_is_none_is_refused_when_it_is_found(
    built: tuple[Path, Model], tmp_path: Path, line: bytes
) -> None:
    index = Path(shutil.copytree(built[0], tmp_path / "index"))
    (index / "texts.jsonl").write_bytes(line * 20)
    np.save(index / "places.npy", np.arange(21) * len(line))
    sealed(index, json.loads((index / "index.json").read_text()))
    found = SearchIndex.open(index, built[1])
    with refused(CheckpointError, wanted=str(index), do="build"):
        found.ask("the dog")


def test_an_index_never_makes_its_reader_ask_a_hub(built: tuple[Path, Model], tmp_path: Path) -> None:
    index = Path(shutil.copytree(built[0], tmp_path / "index"))
    sealed(index, json.loads((index / "index.json").read_text()) | {"model": "hub:someone/something"})
    with refused(CheckpointError, got="hub:someone/something", do="--model hub:someone/something"):
        SearchIndex.open(index)
    assert len(SearchIndex.open(index, built[1])) == len(TEXTS)


@pytest.mark.parametrize("top", [None, "5", 1.5, True, 0])
def test_how_many_are_asked_for_is_a_whole_number(built: tuple[Path, Model], top: Any) -> None:
    found = SearchIndex.open(*built)
    for ask in (found.ask, lambda text, top: found.near(np.ones((1, 16)), top=top)):
        with refused(ConfigError, wanted="top", got=repr(top)):
            ask("the dog", top=top)


def test_one_text_is_no_list_of_texts_and_a_model_may_be_named(saved: Path, tmp_path: Path) -> None:
    with refused(DataError, got="'the dog'"):
        SearchIndex.build(tmp_path / "letters", "the dog", gf.load(saved))  # else an index of letters
    with refused(DataError, wanted="text 2", got="None"):
        SearchIndex.build(tmp_path / "none", ["the dog", None], gf.load(saved))  # type: ignore[list-item]
    built = SearchIndex.build(tmp_path / "index", TEXTS, str(saved))
    assert SearchIndex.open(tmp_path / "index", saved).ask("the dog", top=2) == built.ask("the dog", top=2)
    with refused(DataError, wanted="question 2 of 2", got="''"):
        built.ask(["the dog", ""])
    with refused(ShapeError, wanted="16", got="[3]"):
        built.near(np.ones(3))
    with refused(ShapeError, wanted="finite", got="NaN"):
        built.near(np.full((1, 16), np.nan))
    with refused(DataError, got="None"):
        built.ask(None)  # type: ignore[call-overload]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index", saved.name]


def test_an_interrupted_build_leaves_nothing(model: Model, tmp_path: Path) -> None:
    def stopping() -> Any:
        yield from TEXTS
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SearchIndex.build(tmp_path / "index", stopping(), model)
    assert list(tmp_path.iterdir()) == []


def test_the_commands(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text("".join(json.dumps({"id": number, "body": text}) + "\n" for number, text in enumerate(TEXTS)))
    index = str(tmp_path / "index")
    assert main(["search", "build", str(saved), str(file), "--text-column", "body", "--out", index]) == 0
    capsys.readouterr()
    assert main(["search", "ask", index, "the dog", "--top", "2", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [hit["text"] for hit in record["hits"]] == [TEXTS[hit["id"]] for hit in record["hits"]]
    for by, score in (("vectors", "cosine"), ("words", "BM25"), ("both", "score")):
        assert main(["search", "ask", index, "the dog", "--by", by]) == 0
        assert score in capsys.readouterr().out
    assert main(["search", "ask", index, "zebra", "...", "--by", "words"]) == 0
    record = capsys.readouterr()
    assert "no text has a word" in record.out
    assert "text 2 of 2" in record.err
    assert main(["search", "ask", index, "the dog", "--out", f"{index}/texts.jsonl"]) == 2
    assert main(["search", "ask", index, "the dog"]) == 0
    capsys.readouterr()
    assert main(["search"]) == 2
    assert "search build" in capsys.readouterr().err
    assert main(["search", "ask", str(saved), "x"]) == 2


def test_of_several_files_each_text_knows_its_place(saved: Path, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.txt").write_text("the dog and the fox\nfood for friends\n")
    (notes / "b.jsonl").write_text('{"text": "the fox", "id": 7}\n{"text": "a friend"}\n')
    assert main(["search", "build", str(saved), str(notes), "--out", str(tmp_path / "index")]) == 0
    hits = sorted(SearchIndex.open(tmp_path / "index").ask("the dog", top=4), key=lambda hit: hit.row)
    first, second = notes / "a.txt", notes / "b.jsonl"
    assert [hit.id for hit in hits] == [f"{first}, line 1", f"{first}, line 2", 7, f"{second}, line 2"]


def test_columns_that_are_kept_come_back_with_a_hit(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table, index = tmp_path / "notes.csv", str(tmp_path / "index")
    table.write_text("id;title;text;page\nx;Dogs;the dog and the fox;7\ny;Food;food for friends;\n")
    command = ["search", "build", str(saved), str(table), "--out", index]
    assert main([*command, "--keep", "title", "--keep", "page", "--keep", "id"]) == 0
    hits = {hit.id: hit.kept for hit in SearchIndex.open(index).ask("the dog", top=2)}
    assert hits == {"x": {"title": "Dogs", "page": "7"}, "y": {"title": "Food", "page": ""}}
    capsys.readouterr()
    assert main(["search", "ask", index, "the dog", "--top", "1", "--json"]) == 0
    (hit,) = json.loads(capsys.readouterr().out)["hits"]
    assert (hit["id"], hit["kept"]) == ("x", {"title": "Dogs", "page": "7"})
    assert main(["search", "ask", index, "the dog", "--top", "1"]) == 0
    assert "title: Dogs" in capsys.readouterr().out
    assert main([*command, "--keep", "author"]) == 2  # no such column


def test_a_column_of_a_question_that_has_the_name_of_a_field_is_kept(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("the dog and the fox\nfood for friends\n")
    (tmp_path / "asked.jsonl").write_text('{"text": "the dog", "hits": "mine"}\n')
    assert main(["search", "build", str(saved), str(tmp_path / "notes.txt"), "--out", str(tmp_path / "index")]) == 0
    capsys.readouterr()
    asked = ["--file", str(tmp_path / "asked.jsonl"), "--keep", "hits", "--json"]
    assert main(["search", "ask", str(tmp_path / "index"), *asked]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["input_hits"] == "mine"
    assert isinstance(answer["hits"], list)


def test_a_table_of_answers_has_a_row_for_each_hit(saved: Path, tmp_path: Path) -> None:
    notes, asked = tmp_path / "notes.jsonl", tmp_path / "asked.csv"
    first = {"text": "the dog and the fox", "id": "x", "rank": 7, "hit_rank": "b"}
    second = first | {"text": "food for friends", "id": "y"}
    notes.write_text(f"{json.dumps(first)}\n{json.dumps(second)}\n")
    asked.write_text("Nr;text\n5;the dog\n6;!\n")
    index, out = str(tmp_path / "index"), tmp_path / "hits.csv"
    kept = ["--keep", "rank", "--keep", "hit_rank"]
    assert main(["search", "build", str(saved), str(notes), "--out", index, *kept]) == 0
    command = ["search", "ask", index, "--file", str(asked), "--keep", "Nr", "--top", "2", "--by", "words"]
    assert main([*command, "--out", str(out)]) == 0
    with out.open(newline="", encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle, delimiter=";"))
    assert [(row["Nr"], row["question"], row["rank"], row["hit_id"]) for row in rows] == [
        ("5", "the dog", "1", "x"),
        ("6", "!", "", ""),  # no hit, and no question is lost
    ]
    assert (rows[0]["text"], rows[0]["hit_rank"], rows[0]["hit_hit_rank"]) == ("the dog and the fox", "7", "b")
    assert float(rows[0]["score"].replace(",", ".")) > 0


def test_an_index_of_records_brings_their_other_fields_back(model: Model, tmp_path: Path) -> None:
    page = np.int64(7)
    records: list[Any] = [{"text": "the dog and the fox", "id": np.int64(3), "page": page}, "food for friends"]
    records.append({"text": "a friend", "id": float("nan"), "page": {"of": np.arange(2), "w": np.longdouble(1.5)}})
    index = SearchIndex.build(tmp_path / "index", records, model)
    first, second, third = sorted(index.ask("the dog", top=3), key=lambda hit: hit.row)
    assert (first.id, first.kept, second.id, second.kept) == (3, {"page": 7}, None, {})
    assert (third.id, third.kept) == (None, {"page": {"of": [0, 1], "w": "1.5"}})

    class Frame:  # as of pandas: an iterable of the names of its columns
        columns = ("text", "page")

        def __iter__(self) -> Iterator[str]:
            return iter(self.columns)

        def to_numpy(self) -> Any:
            return np.array([["a", 7]], dtype=object)

    frame: Any = Frame()
    with refused(DataError, do="to_dict"):
        SearchIndex.build(tmp_path / "other", frame, model)


def test_a_text_is_a_line_a_paragraph_or_a_file(saved: Path, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("the dog and\nthe fox\n\nfood for\nfriends\n")
    for documents, texts in (
        ("line", ["the dog and", "the fox", "food for", "friends"]),
        ("blank-line", ["the dog and the fox", "food for friends"]),
        ("file", ["the dog and the fox  food for friends"]),
    ):
        index = tmp_path / documents
        assert main(["search", "build", str(saved), str(file), "--documents", documents, "--out", str(index)]) == 0
        hits = SearchIndex.open(index).ask("the dog friends", top=9, by="words")
        assert {hit.text for hit in hits} == {text for text in texts if {"dog", "the", "friends"} & {*text.split()}}


BLANK = ["the dog and the fox", "", "\u200b", "food for friends", "   "]


def test_a_text_without_tokens_is_never_found_and_such_a_question_finds_nothing(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its row stays: row n is text n."""
    texts, index = tmp_path / "texts.txt", tmp_path / "index"
    texts.write_text("".join(f"{line}\n" for line in BLANK))
    assert main(["search", "build", str(saved), str(texts), "--out", str(index)]) == 0
    output = " ".join(capsys.readouterr().err.split())
    assert all(f"line {number}" in output for number in (2, 3, 5))
    assert "line 4" not in output
    found = SearchIndex.open(index)
    assert len(found) == len(BLANK)
    assert sorted(hit.row for hit in found.ask(".", top=5)) == [0, 3]
    questions = tmp_path / "questions.txt"
    questions.write_text("the dog\n\u200b\n\nfood\n")
    asked = ["search", "ask", str(index), "--file", str(questions), "--json", "--out", str(tmp_path / "a.jsonl")]
    assert main(asked) == 0
    output = " ".join(capsys.readouterr().err.split())
    assert all(f"line {number}" in output for number in (2, 3))
    answers = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [(each["text"], len(each["hits"])) for each in answers] == [
        ("the dog", 2),
        ("\u200b", 0),
        ("", 0),
        ("food", 2),
    ]
    with refused(DataError, got="'\\u200b'"):
        found.ask("\u200b")
    with refused(DataError, got="2"):
        SearchIndex.build(tmp_path / "none", ["", " "], saved)
    assert not (tmp_path / "none").exists()


def test_a_build_that_was_stopped_goes_on_to_the_same_index(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from glassformer.cli.vectors import embed_fill
    from glassformer.features.streams import VectorsFile

    monkeypatch.setattr(embed_fill, "_TOGETHER", 8)
    texts = tmp_path / "texts.txt"
    texts.write_bytes(b"".join(f"{line}\n".encode() for line in TEXTS) + b"\xff\n")
    common = ["search", "build", str(saved), str(texts), "--rejects", str(tmp_path / "rejects.jsonl"), "--out"]
    assert main([*common, str(tmp_path / "whole")]) == 0
    assert len((tmp_path / "rejects.jsonl").read_text().splitlines()) == 1
    plain = VectorsFile.commit

    def stopping(self: VectorsFile) -> None:
        plain(self)
        if self.kept == 8:
            raise KeyboardInterrupt

    index = tmp_path / "index"
    with monkeypatch.context() as patch:
        patch.setattr(VectorsFile, "commit", stopping)
        assert main([*common, str(index)]) == 130
    capsys.readouterr()
    assert not index.exists()
    assert main([*common, str(index)]) == 2
    assert "--resume" in capsys.readouterr().err
    assert main([*common, str(index), "--resume", "-p", "first"]) == 2
    assert "'first' instead of 'mean'" in capsys.readouterr().err
    assert main([*common, str(index), "--resume"]) == 0
    assert "continuing after 8 texts" in capsys.readouterr().err
    for file in (tmp_path / "whole").iterdir():
        assert (index / file.name).read_bytes() == file.read_bytes()
    assert not list(tmp_path.glob("*.partial"))
    assert main(["search", "build", str(saved), str(texts), "-s", "last", "-s", "0", "--out", str(tmp_path / "x")]) == 2
    assert "last, 0" in capsys.readouterr().err


def test_a_model_of_the_package_is_named_and_not_where_it_lies(tmp_path: Path) -> None:
    SearchIndex.build(tmp_path / "index", ["the dog"], gf.load("english"))
    assert json.loads((tmp_path / "index" / "index.json").read_text())["model"] == "english"
    assert len(SearchIndex.open(tmp_path / "index")) == 1


def test_an_index_of_no_words_leaves_nothing_to_continue(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "blank.txt").write_text("\n\n")
    assert main(["search", "build", "sentences", str(tmp_path / "blank.txt"), "--out", str(tmp_path / "index")]) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["blank.txt"]
