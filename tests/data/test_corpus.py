"""From a recipe's files to stores: split, repeats, cache, and what a person should know."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from glassformer.base.errors import ConfigError, DataError
from glassformer.data.settings import CorpusSection
from glassformer.data.stores.corpus import Corpus, prepare, resolve_shares, training_texts
from glassformer.text.tokenizer import Tokenizer
from tests.data.made import split
from tests.refusals import refused


def section(path: Path, texts: list[str], **settings: object) -> CorpusSection:
    path.write_text("\n\n".join(texts))
    return CorpusSection.model_validate({"files": (str(path),), "validation": 0.3, "test": 0.2} | settings)


def held(corpus: Corpus) -> dict[str, list[list[int]]]:
    return {
        name: [store.document(number).tolist() for number in range(store.documents)]
        for name, store in corpus.stores.items()
    }


def test_each_document_is_on_its_side(texts: list[str], tokenizer: Tokenizer, tmp_path: Path) -> None:
    data = section(tmp_path / "notes.txt", texts, seed=4)
    corpus = prepare(data, tokenizer, tmp_path / "cache")
    wanted: dict[str, list[list[int]]] = {"train": [], "validation": [], "test": []}
    for text in texts:
        wanted[split(text, seed=4, shares={"validation": 0.3, "test": 0.2})].append(
            tokenizer.encode(text, special=False).ids
        )
    assert held(corpus) == wanted
    assert all(wanted.values())
    assert corpus.notes() == []
    train = [tokenizer.encode(text, special=False).ids for text in training_texts(data, corpus.shares)]
    assert train == wanted["train"]


def test_repeats_stay_together_and_are_reported(texts: list[str], tokenizer: Tokenizer, tmp_path: Path) -> None:
    twice = [*texts, *(text.upper() for text in texts[:10])]
    corpus = prepare(section(tmp_path / "notes.txt", twice), tokenizer, tmp_path / "cache")
    assert (corpus.repeats.documents, corpus.repeats.repeated) == (50, 10)
    assert corpus.notes() == ["10 of 50 documents (20.0%) repeat an earlier one"]
    hashes = {name: set(store.hashes.tolist()) for name, store in corpus.stores.items()}
    assert not hashes["train"] & hashes["validation"]
    assert not hashes["train"] & hashes["test"]


def test_validation_files_are_all_validation(texts: list[str], tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "held.txt").write_text("\n\n".join([*texts[:2], "the river"]))
    data = section(tmp_path / "notes.txt", texts, test=0.0, validation_files=(str(tmp_path / "held.txt"),))
    corpus = prepare(data, tokenizer, tmp_path / "cache")
    assert [corpus.stores[name].documents for name in ("train", "validation", "test")] == [40, 3, 0]
    assert corpus.leaked == 2
    assert "in the training text too: 2 documents of the held-out text" in corpus.notes()


def test_the_cache_answers_to_contents_not_to_names(texts: list[str], tokenizer: Tokenizer, tmp_path: Path) -> None:
    data = section(tmp_path / "notes.txt", texts)
    seen: list[int] = []
    first = prepare(data, tokenizer, tmp_path / "cache", advance=seen.append)
    assert seen
    seen.clear()
    (tmp_path / "notes.txt").rename(tmp_path / "moved.txt")
    moved = prepare(
        data.model_copy(update={"files": (str(tmp_path / "moved.txt"),)}),
        tokenizer,
        tmp_path / "cache",
        advance=seen.append,
    )
    assert not seen
    assert held(moved) == held(first)
    assert moved.stores["train"].fingerprint == first.stores["train"].fingerprint
    for change in ({"seed": 9}, {"validation": 0.4}, {"documents": "line"}):
        other = prepare(
            data.model_copy(update={"files": moved_files(tmp_path)} | change), tokenizer, tmp_path / "cache"
        )
        assert other.stores["train"].fingerprint != first.stores["train"].fingerprint
    assert len(list((tmp_path / "cache").iterdir())) == 4


def moved_files(folder: Path) -> tuple[str, ...]:
    return (str(folder / "moved.txt"),)


@pytest.mark.parametrize("count", [3, 4, 6])
def test_few_documents_still_fill_each_side(count: int, texts: list[str], tokenizer: Tokenizer, tmp_path: Path) -> None:
    data = section(tmp_path / "notes.txt", texts[:count], validation=0.001, test=0.001)
    corpus = prepare(data, tokenizer, tmp_path / "cache")
    sizes = [corpus.stores[name].documents for name in ("train", "validation", "test")]
    assert sizes == [count - 2, 1, 1]
    for text in texts[:count]:
        name = split(text, seed=0, shares=corpus.shares)
        assert tokenizer.encode(text, special=False).ids in held(corpus)[name]


def test_many_documents_keep_the_shares_asked_for(texts: list[str], tmp_path: Path) -> None:
    data = section(tmp_path / "notes.txt", texts)
    assert resolve_shares(data) == {"validation": 0.3, "test": 0.2}
    assert resolve_shares(data.model_copy(update={"validation_files": ("x",)})) == {"validation": 0.0, "test": 0.2}


@pytest.mark.parametrize("more", [{"test": 0.1}, {"validation_files": ("held.txt",)}], ids=str)
def test_where_the_end_is_held_out_nothing_else_is(more: dict[str, object], texts: list[str], tmp_path: Path) -> None:
    with refused(ConfigError, wanted="end of the text", got="data.end"):
        resolve_shares(section(tmp_path / "notes.txt", texts, **{"test": 0.0, "end": 0.2, **more}))


def test_too_few_documents_for_a_split(texts: list[str], tmp_path: Path) -> None:
    data = section(tmp_path / "notes.txt", [texts[0], texts[0]], test=0.0)
    with pytest.raises(DataError) as caught:
        resolve_shares(data)
    assert "2" in caught.value.wanted
    assert caught.value.got == "1"
    assert "--set data.documents=line" in caught.value.do
    assert "--validation 0" in caught.value.do
    crowded = section(tmp_path / "notes.txt", texts[:3], validation=0.5, test=0.499999)
    shares = resolve_shares(crowded)
    assert {split(text, seed=0, shares=shares) for text in texts[:3]} == {"train", "validation", "test"}


def test_bad_rows_stop_or_are_counted_also_from_the_cache(
    texts: list[str], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl.gz"
    rows = [json.dumps({"body": text}) for text in texts]
    path.write_bytes(gzip.compress("\n".join([*rows[:5], "{", *rows[5:], "[]"]).encode()))
    data = CorpusSection(files=(str(path),), text="body", validation=0.2)
    with refused(DataError, wanted="x.jsonl.gz, line 6", got="column 2"):
        prepare(data, tokenizer, tmp_path / "cache")
    skipping = data.model_copy(update={"on_bad_row": "skip"})
    for _ in range(2):
        corpus = prepare(skipping, tokenizer, tmp_path / "cache")
        assert corpus.skipped == 2
        assert corpus.notes()[-1].startswith("2 bad rows were left out, one of them: ")
        assert sum(store.documents for store in corpus.stores.values()) == len(texts)


def test_text_without_a_word_is_refused(tokenizer: Tokenizer, tmp_path: Path) -> None:
    data = section(tmp_path / "notes.txt", ["\u200b", "\u200b\u200b"], validation=0.0, test=0.0)
    with refused(DataError, wanted="training", got="no document"):
        prepare(data, tokenizer, tmp_path / "cache")


def test_kinds_of_files_give_equal_stores(texts: list[str], tokenizer: Tokenizer, tmp_path: Path) -> None:
    plain = prepare(section(tmp_path / "notes.txt", texts), tokenizer, tmp_path / "cache")
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    data = CorpusSection(files=(str(path),), validation=0.3, test=0.2)
    table = prepare(data, tokenizer, tmp_path / "cache")
    for name, store in plain.stores.items():
        assert np.array_equal(store.ids, table.stores[name].ids)
        assert np.array_equal(store.hashes, table.stores[name].hashes)


def test_a_damaged_note_of_what_was_left_out_is_named(texts: list[str], tokenizer: Tokenizer, tmp_path: Path) -> None:
    data = section(tmp_path / "notes.txt", texts)
    prepare(data, tokenizer, tmp_path / "cache")
    (path,) = (tmp_path / "cache").rglob("skipped.json")
    whole = path.read_bytes()
    for damaged in (b"", b"[" * 100_000, whole.replace(b'"count": 0', b'"count": 1')):
        path.write_bytes(damaged)
        with pytest.raises(DataError) as caught:
            prepare(data, tokenizer, tmp_path / "cache")
        assert str(path.parent) in caught.value.do
