"""Tagging from files to spans: offsets, windows, words without tokens, the CRF's scores, and what is refused."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import glassformer as gf
from glassformer.base.errors import ConfigError, DataError, MissingColumnError
from glassformer.data.batches.corrupt import IGNORED
from glassformer.data.stores.split import hash_fraction, text_hash
from glassformer.models.chain import Chain, viterbi
from glassformer.models.families import gpt2
from glassformer.scoring.bio import spans_of, tags_of
from glassformer.tasks.labels.tag.answers import decoded
from glassformer.tasks.labels.tag.records import Sentence, sentence_of
from glassformer.tasks.labels.tag.settings import TagSection
from glassformer.tasks.labels.tag.task import Tag
from glassformer.tasks.predictor import predict
from glassformer.tasks.rows import Row, collate
from glassformer.text import words as words_of_text
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.words import find_words, word_tokens
from glassformer.training.progress import NoProgress
from tests.contracts.tasks import TASKS
from tests.refusals import refused

ROW = next(row for row in TASKS if row.name == "tag")


class Notes(NoProgress):
    """Keeps the notes of a run."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, message: str) -> None:
        self.notes.append(message)


def trained(folder: Path, text: str, name: str = "a.conll", **changes: Mapping[str, Any]) -> tuple[gf.Model, list[str]]:
    """A tiny model after six steps on a file of this text, and the notes of its training."""
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    recipe = ROW.recipe(folder)
    recipe["data"]["files"] = [str(path)]
    for table, values in changes.items():
        recipe.setdefault(table, {}).update(values)
    progress = Notes()
    return gf.train(recipe, out=folder / "run", progress=progress), progress.notes


SENTENCES = "\n\n".join(f"EU\tB-ORG\nrejects\tO\nGerman\tB-MISC\ncall\tO\n{n}\tO\n.\tO" for n in range(30)) + "\n"
PARTS_OF_SPEECH = SENTENCES.replace("B-ORG", "NOUN").replace("B-MISC", "ADJ").replace("O\n", "X\n")


def tagger(tokenizer: Tokenizer, length: int | None = 12) -> Tag:
    return Tag(TagSection(labels=("O", "B-a", "I-a")), tokenizer, length=length)


# --------------------------------------------------------------------------- words, tokens, windows


def test_words_are_parted_by_blanks_and_punctuation() -> None:
    text = "Don't  pay\u00a0$3.50, Ünal!\n"
    words = [text[start:end] for start, end in find_words(text)]
    assert words == ["Don", "'", "t", "pay", "$", "3", ".", "50", ",", "Ünal", "!"]


def test_each_word_has_a_first_token_also_one_without_tokens(tokenizer: Tokenizer) -> None:
    text = "she \u0007 unquestionably she"
    words = [(0, 3), (4, 5), (6, 20), (21, 24)]
    assert tokenizer.ids("\u0007") == []
    tokens = word_tokens(tokenizer, text, words)
    assert tokens.ids[tokens.first[1]] == tokenizer.unknown_id
    whole = tokenizer.ids("she unquestionably she")
    assert [id_ for place, id_ in enumerate(tokens.ids) if place != tokens.first[1]] == whole
    she, long = len(tokenizer.ids("she")), len(tokenizer.ids("unquestionably"))
    assert tokens.first.tolist() == [0, she, she + 1, she + 1 + long]


def test_a_long_text_is_cut_and_encoded_in_parts_as_the_whole_is(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "She likes, unquestionably,\n \u0007 summer.  " * 30
    words = find_words(text)
    tokens = word_tokens(tokenizer, text, words)
    together: list[int] = []
    word_ids = Tokenizer.word_ids

    def counted(self: Tokenizer, some: Sequence[str]) -> Any:
        together.append(len(some))
        return word_ids(self, some)

    monkeypatch.setattr(words_of_text, "PART", 40)
    monkeypatch.setattr(words_of_text, "WORDS_TOGETHER", 7)
    monkeypatch.setattr(Tokenizer, "word_ids", counted)
    assert find_words(text) == words
    again = word_tokens(tokenizer, text, words)
    assert again.ids.tolist() == tokens.ids.tolist()
    assert again.first.tolist() == tokens.first.tolist()
    assert max(together) == 7


@pytest.mark.parametrize("length", [4, 5, 9, 12, None])
def test_each_word_is_labelled_once_at_its_first_token(tokenizer: Tokenizer, length: int | None) -> None:
    words = ["she", "unquestionably", "likes", "summer"] * 6
    task = tagger(tokenizer, length)
    tags = ["O", "B-a", "I-a", "O"] * 6
    example = task.example({"words": words, "tags": tags}, "here")
    labels = [label for row in task.rows(example) for label in row.labels["tag"] if label != IGNORED]
    assert labels == list(example.labels or ())
    asked = list(task.rows(example))
    assert length is None or all(len(row.ids) <= length for row in asked)
    assert all(row.weight == 1 for row in asked)
    firsts = [row.ids[place] for row in asked for place, label in enumerate(row.labels["tag"]) if label != IGNORED]
    tokens = word_tokens(tokenizer, " ".join(words), example.sentence.words)
    assert firsts == tokens.ids[tokens.first].tolist()


def test_the_labels_of_all_windows_are_chosen_together(tokenizer: Tokenizer) -> None:
    task = tagger(tokenizer)
    example = task.example({"words": ["she", "likes", "summer", "she"]}, "")
    outside, begins, inside = np.eye(3) * 2
    chain = task._legal
    found = task.merge(example, [(np.stack([outside, begins]), chain), (np.stack([inside, inside]), chain)])
    assert found.tags == ("O", "B-a", "I-a", "I-a")
    (span,) = found.spans
    assert (span.start, span.end, span.text, found.windows) == (4, 20, "likes summer she", 2)
    illegal = task.merge(example, [(np.stack([inside, outside, outside, inside]), chain)])
    assert tags_of(spans_of(illegal.tags), 4) == list(illegal.tags)
    assert illegal.tags[1:3] == ("O", "O")


def test_trained_steps_decide_with_a_crf() -> None:
    labels, logits = ("x", "y"), np.array([[1.0, 0.0], [0.9, 1.0], [1.0, 0.0]])
    chain = Chain(np.array([[1.0, -1.0], [0.0, 0.0]]), np.zeros(2), np.zeros(2))
    sentence = Sentence("a b c", ((0, 1), (2, 3), (4, 5)))
    assert decoded(sentence, labels, logits, None, 1).tags == ("x", "y", "x")
    found = decoded(sentence, labels, logits, chain, 1)
    assert found.tags == ("x", "x", "x")
    assert viterbi(logits, chain).tolist() == [0, 0, 0]
    assert all(0 < span.probability < 1 for span in found.spans)


def test_a_long_sentence_is_one_example(tokenizer: Tokenizer) -> None:
    task = tagger(tokenizer)
    example = task.example({"words": ["she"] * 20_000}, "")
    assert sum(label != IGNORED for row in task.rows(example) for label in row.labels["tag"]) == 20_000


# --------------------------------------------------------------------------- spans of characters


def test_spans_become_tags_of_words() -> None:
    text = "Acme Inc. hires @bob."
    spans = [{"start": 15, "end": 20, "label": "who"}, {"start": 0, "end": 10, "label": "firm"}]
    sentence = sentence_of({"text": text, "spans": spans}, "here")
    words = [text[start:end] for start, end in sentence.words]
    assert words == ["Acme", "Inc", ".", "hires", "@", "bob", "."]
    assert sentence.tags == ("B-firm", "I-firm", "I-firm", "O", "B-who", "I-who", "O")


@pytest.mark.parametrize(
    ("values", "got"),
    [
        ({"text": "a b", "spans": [{"start": 0, "end": 9, "label": "x"}]}, "0 to 9"),
        ({"text": "a b", "spans": [{"start": 2, "end": 2, "label": "x"}]}, "2 to 2"),
        ({"text": "a b", "spans": [{"start": 1, "end": 2, "label": "x"}]}, "blanks, ' '"),
        ({"text": "ab c", "spans": [{"start": 1, "end": 4, "label": "x"}]}, "a[b c]"),
        ({"text": "a b c", "spans": [{"start": 0, "end": 3, "label": "x"}, {"start": 2, "end": 5, "label": "y"}]}, "b"),
        ({"text": "a b", "spans": [{"start": "0", "end": 1, "label": "x"}]}, "'0'"),
        ({"text": "a b", "spans": [{"start": 0, "label": "x"}]}, "start"),
        ({"text": "a b", "spans": "x"}, "'x'"),
        ({"text": " ", "spans": []}, "' '"),
        ({"words": [], "tags": []}, "[]"),
        ({"words": ["a", " "], "tags": ["x", "y"]}, "' '"),
        ({"words": ["a", "b"], "tags": ["x"]}, "1 tags for 2 words"),
        ({"words": "a b"}, "'a b'"),
        ({"words": ["b", "a"], "text": "a b"}, "a b"),
    ],
)
def test_a_row_that_cannot_be_is_refused_with_its_line(values: dict[str, Any], got: str) -> None:
    with refused(DataError, wanted="f.jsonl, line 7", got=got):
        sentence_of(values, "f.jsonl, line 7")


def test_words_stand_where_they_are_in_their_text() -> None:
    sentence = sentence_of({"text": "I  don't", "words": ["I", "do", "n't"]}, "")
    assert sentence.words == ((0, 1), (3, 5), (5, 8))


# --------------------------------------------------------------------------- training and answering


def test_what_was_found_is_reported_and_what_comes_out_goes_in_again(tmp_path: Path) -> None:
    model, notes = trained(tmp_path, SENTENCES.replace("rejects\tO", "rejects\tI-LOC"), data={"validation": 0.0})
    assert model.task is not None
    assert model.task.model_dump()["labels"] == ("O", "B-LOC", "I-LOC", "B-MISC", "I-MISC", "B-ORG", "I-ORG")
    assert any("BIO" in note and "30 illegal" in note for note in notes)
    assert any("I-LOC, I-MISC, I-ORG" in note for note in notes)  # labels all the same, of which nothing is learned
    text = "Whether the EU rejects,\nor not:  the German call."
    found = model.tag(text)
    assert all(text[span.start : span.end] == span.text for span in found.spans)
    assert found.text == text
    (given,) = model.tag(words=[["the", "EU", "rejects"]])
    record = json.loads(json.dumps(given.to_dict()))
    again = sentence_of(record, "")
    assert again.tags == given.tags
    assert given.words == tuple(record["words"]) == ("the", "EU", "rejects")  # in Python as in JSON
    assert tuple(given.text[start:end] for start, end in given.offsets) == given.words
    assert len(found.words) == len(found.offsets) == len(found.tags) == 12
    assert sentence_of(found.to_dict(), "").tags == found.tags
    assert [each.given for each in model.tag(text, words=[["the", "EU"]])] == [False, True]  # type: ignore[call-overload]
    with refused(DataError, wanted="sentence 1 of 2", got="'the'", do="words=[["):
        model.tag(words=["the", "EU"])  # their letters were taken for words


def test_iob1_and_bioes_teach_what_bio_teaches(tmp_path: Path) -> None:
    tagged = {}
    for name, prefix in (("BIO", "B-"), ("IOB1", "I-"), ("BIOES", "S-")):
        (tmp_path / name).mkdir()
        text = SENTENCES.replace("B-", prefix)
        model, notes = trained(tmp_path / name, text, train={"steps": 1})
        assert any(name in note for note in notes)
        head = model.module.token_head
        assert head is not None
        tagged[name] = (model.task, head.output.weight.tolist())
    assert tagged["BIO"] == tagged["IOB1"] == tagged["BIOES"]


def test_parts_of_speech_have_one_span_a_word_and_two_baselines(tmp_path: Path) -> None:
    model, _ = trained(tmp_path, PARTS_OF_SPEECH)
    found = model.tag("the EU call")
    assert [(span.start, span.end) for span in found.spans] == [(0, 3), (4, 6), (7, 11)]
    scores = gf.load(tmp_path / "run").evaluate()
    assert scores["f1"] == scores["accuracy"]
    assert scores["by_word_accuracy"] == 1
    assert scores["most_frequent_accuracy"] == pytest.approx(4 / 6)


def test_unseen_labels_and_missing_tags_are_named(tmp_path: Path) -> None:
    model, _ = trained(tmp_path, SENTENCES)
    path = tmp_path / "other.conll"
    path.write_text("EU\tO\n\nBonn\tB-LOC\n")
    with refused(DataError, wanted=f"{path}, line 3", got="B-LOC", do="B-ORG"):
        model.evaluate(path)
    path.write_text("EU\nBonn\n")
    with refused(MissingColumnError, wanted=f"{path}, line 1"):
        model.evaluate(path)
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"text": "EU"}\n')
    with refused(MissingColumnError, wanted=(f"{rows}, line 1", "spans")):
        model.evaluate(rows)


@pytest.mark.parametrize(("tag", "labels"), [("B-LOC", {"B-LOC", "I-LOC"}), ("S-LOC", {"B-LOC", "I-LOC"})])
def test_tags_of_which_the_random_split_holds_out_all_sentences_are_known_and_reported(
    tmp_path: Path, tag: str, labels: set[str]
) -> None:
    words = next(word for n in range(1000) if hash_fraction(text_hash(word := f"Bonn{n}"), 0) < 0.2)
    model, notes = trained(tmp_path, f"{SENTENCES}\n{words}\t{tag}\n", data={"validation": 0.2, "seed": 0})
    assert labels < set(model.labels)
    (message,) = [note for note in notes if "'B-LOC'" in note]
    assert f"{tmp_path / 'a.conll'}, line {SENTENCES.count(chr(10)) + 2}" in message


def test_a_line_of_column_names_is_no_tag(tmp_path: Path) -> None:
    with refused(DataError, wanted="line 1", got="'Tag'"):
        trained(tmp_path, f"Wort\tTag\n{SENTENCES}")


def test_slips_do_not_make_parts_of_speech_of_spans(tmp_path: Path) -> None:
    with refused(DataError, wanted="a.conll, line", got="'0', one of 2"):
        trained(tmp_path, SENTENCES * 60 + "lol\t0\nlol\t0\n")


def test_one_label_and_a_table_of_sentences_are_refused(tmp_path: Path) -> None:
    with refused(DataError, got="'O'"):
        trained(tmp_path, "EU\tO\n\nrejects\tO\n\nall\tO\n")
    with refused(DataError, wanted="a.csv", do=".conll"):
        trained(tmp_path, "text,tags\nEU,O\n", "a.csv")
    with refused(ConfigError, got="gpt2"):
        Tag.check_body(TagSection(), gpt2(layers=1, width=8, heads=2, vocabulary=30))


@pytest.mark.parametrize("crf", [False, True])
def test_the_right_tags_of_a_record_change_nothing_of_what_is_found(tmp_path: Path, crf: bool) -> None:
    """Which tokens are tagged is chosen without them: with right tags, with wrong ones and with none, to the bit."""
    model, _ = trained(tmp_path, SENTENCES, task={"crf": crf})
    assert isinstance(model.task, TagSection)
    task = Tag(model.task, model.tokenizer, length=12)
    words = ["the", "EU", "rejects", "German", "call", "unquestionably", "."] * 5
    sets: tuple[dict[str, Any], ...] = (
        {},
        {"tags": ["O", "B-ORG", "O", "B-MISC", "O", "O", "O"] * 5},
        {"tags": ["B-MISC", "I-MISC", "I-MISC", "O", "B-ORG", "O", "I-ORG"] * 5},
    )
    examples = [task.example({"words": words, **tags}, "") for tags in sets]
    assert [each.labels is None for each in examples] == [True, False, False]
    asked = [[np.asarray(row.labels["tag"]) != IGNORED for row in task.rows(each)] for each in examples]
    for masks in asked[1:]:
        assert all(np.array_equal(one, other) for one, other in zip(asked[0], masks, strict=True))
    none, right, wrong = predict(task, model.module.eval(), examples)
    assert none == right == wrong
    assert none.windows > 1
    assert task.scores([(examples[1], none)])["accuracy"] != task.scores([(examples[2], none)])["accuracy"]


def test_labels_for_each_token_are_filled_up_and_counted_by_weight() -> None:
    """-100 where nothing is asked."""
    rows = [Row(ids=[5, 6, 7], labels={"tag": [-100, 1, 2]}), Row(ids=[5, 6], labels={"tag": [3, -100]}, weight=0.5)]
    batch = collate(rows, pad_id=0, axes={"tag": "token"}, shape=(3, 4))
    assert batch.labels["tag"].tolist() == [[-100, 1, 2, -100], [3, -100, -100, -100], [-100] * 4]
    assert batch.counts == {"tag": 2.5}
    assert batch.weights.tolist() == [1.0, 0.5, 0.0]
    assert batch.tokens == 5
    assert batch.inputs.real is not None
    assert batch.inputs.real.sum(dim=1).tolist() == [3, 2, 2]  # the row that fills the shape has something to look at
