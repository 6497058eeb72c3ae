"""What is kept of watched sentences is what the model answers and what its trace shows, for every task; what cannot be
watched is refused before anything is trained.
"""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.api.model import Model
from glassformer.api.train import train
from glassformer.base.errors import ConfigError, DataError
from glassformer.look.summaries.head_measures import MEASURES
from glassformer.look.texts.watched import GUESSES, MOST_SENTENCES, Sentences
from glassformer.tasks import TASKS, VERBS, verb_of
from glassformer.training.record import FILE, read_watched
from tests.run.heads import TAGS, model_for
from tests.run.runs import Listener, recipe, same_weights
from tests.translators import translating

PLACES = {"labels": ("cold", "warm", "mild")}


# Task, how its model is made, the sentence, and what the verb answers: the places with their guesses.
TABLE: dict[str, tuple[dict[str, Any], str, Callable[[Model], list[list[tuple[str, float | None]]]]]] = {
    "classify": (
        PLACES,
        "Alice went to Berlin.",
        lambda model: [
            sorted(model.classify("Alice went to Berlin.").probabilities.items(), key=lambda each: -each[1])
        ],
    ),
    "regress": ({"mean": 0.0, "deviation": 1.0}, "Alice went to Berlin.", lambda model: []),
    "choose": (
        {},
        "Alice went\tto Berlin\ton a cold day",
        lambda model: [
            list(
                zip(
                    ("to Berlin", "on a cold day"),
                    model.choose("Alice went", ["to Berlin", "on a cold day"]).probabilities,
                    strict=True,
                )
            )
        ],
    ),
    "tag": (
        {"labels": TAGS},
        "Alice went to Berlin.",
        lambda model: [[(tag, None)] for tag in model.tag("Alice went to Berlin.").tags],
    ),
    "answer": (
        {"no_answer": False},
        "Who went?\tAlice went to Berlin.",
        lambda model: [
            [(span.text, span.probability) for span in model.answer("Who went?", "Alice went to Berlin.", top=5).spans]
        ],
    ),
}


def dots_of(record: dict[str, Any], header: Any) -> list[np.ndarray]:
    """The pictures of each attention, [H, R, C]."""
    flat = np.frombuffer(base64.b64decode(record["dots"]), np.uint8)
    found, start = [], 0
    for attention in header["attentions"]:
        shape = (attention["heads"], *attention["picture"])
        found.append(flat[start : start + int(np.prod(shape))].reshape(shape))
        start += int(np.prod(shape))
    assert start == len(flat)
    return found


def check_heads(model: Model, sentences: Sentences, record: dict[str, Any], trace: Any) -> None:
    """The pictures and statistics against the trace, worked out with numpy."""
    (header,) = sentences.header["sentences"]
    measured = np.frombuffer(base64.b64decode(record["measured"]), "<f4").reshape(-1, len(MEASURES))
    head = 0
    for attention, dots in zip(header["attentions"], dots_of(record, header), strict=True):
        weights = trace[f"{attention['name']}.weights"][0].double().numpy()  # [H, Q, K]
        assert list(weights.shape) == [attention["heads"], *attention["shape"]]
        assert np.abs(dots / 255 - np.sqrt(weights)).max() <= 0.5 / 255 + 1e-5
        for each in weights:
            entropy = -(each * np.log(np.maximum(each, 1e-300))).sum(-1).mean()
            assert measured[head, MEASURES.index("entropy")] == pytest.approx(entropy, abs=1e-5)
            assert measured[head, MEASURES.index("first")] == pytest.approx(each[:, 0].mean(), abs=1e-6)
            if "cross" not in attention["name"]:
                before = np.diagonal(each, -1).sum() / len(each)
                assert measured[head, MEASURES.index("previous")] == pytest.approx(before, abs=1e-6)
            head += 1
    assert head == len(measured)


@pytest.mark.parametrize("task", TABLE)
def test_what_is_kept_is_what_the_model_answers(task: str) -> None:
    settings, sentence, answers = TABLE[task]
    model = model_for(task, settings)
    model.module.train()
    sentences = Sentences(model, [sentence])
    (stated,) = sentences.look(model.module)
    assert model.module.training  # it is left as it was
    model.module.eval()
    wanted = answers(model)
    assert len(sentences.header["sentences"][0]["places"]) == len(stated["places"]) == len(wanted)
    for found, expected in zip(stated["places"], wanted, strict=True):
        assert [word for word, _ in found] == [word for word, _ in expected]
        for (_, one), (_, two) in zip(found, expected, strict=True):
            assert two is None or one == pytest.approx(two, abs=1e-5)
    text, *others = sentence.split("\t")
    if task != "choose":
        check_heads(model, sentences, stated, model.trace(text, *others))


def test_masked_words_are_guessed_as_fill_guesses(model: Model) -> None:
    sentence = "She [MASK] the [MASK] ."
    sentences = Sentences(model, [sentence])
    (stated,) = sentences.look(model.module)
    filled = model.fill(sentence, top=GUESSES)
    assert stated["says"] == filled.filled
    for found, mask in zip(stated["places"], filled.masks, strict=True):
        assert [word for word, _ in found] == [guess.word for guess in mask.guesses]
        assert [share for _, share in found] == pytest.approx([guess.probability for guess in mask.guesses], abs=1e-6)
    header = sentences.header["sentences"][0]
    assert [header["words"]["inputs"][place] for place in header["hidden"]] == ["[MASK]", "[MASK]"]
    check_heads(model, sentences, stated, model.trace(sentence))


def test_a_translation_is_shown_with_the_probability_of_each_word_of_the_reference() -> None:
    model = translating()
    source, target = "A man rides .", "Un homme court ."
    sentences = Sentences(model, [f"{source}\t{target}"])
    (found,) = sentences.look(model.module)
    scored = model.score(source, target)
    assert [share for ((_, share),) in found["places"]] == pytest.approx(
        [token.probability for token in scored.tokens], abs=1e-6
    )
    assert found["says"] == model.translate(source, beams=1).translation
    check_heads(model, sentences, found, model.trace(source, target))


def test_the_verb_of_every_task_has_its_row() -> None:
    assert {verb for verb, entry in VERBS.items() if entry.watched is not None} == {verb_of(task) for task in TASKS}


@pytest.mark.parametrize(
    ("sentence", "said"),
    [
        ("She likes the summer.", "[MASK]"),
        ("", "words"),
        (" \t ", "words"),
        ("She [MASK] it.\tmore", "tab"),
        ("She [MASK] " + "the summer " * 20, "tokens"),
    ],
)
def test_bad_sentences_are_refused(model: Model, sentence: str, said: str) -> None:
    with pytest.raises(DataError, match=rf"{said.replace('[', chr(92) + '[')}"):
        Sentences(model, [sentence])


def test_too_many_sentences_and_missing_seconds_are_refused(model: Model) -> None:
    with pytest.raises(ConfigError):
        Sentences(model, ["a [MASK]"] * (MOST_SENTENCES + 1))
    with pytest.raises(DataError):
        Sentences(translating(), ["A man rides ."])
    with pytest.raises(DataError):
        Sentences(model_for("choose", {}), ["Alice went\tto Berlin"])


def test_a_bad_sentence_leaves_no_run_behind(text_file: Path, tmp_path: Path) -> None:
    wanted = recipe(text_file) | {"watch": {"sentences": ["no hidden word"]}}
    with pytest.raises(DataError, match="no hidden word"):
        train(wanted, out=tmp_path / "run", progress=Listener())
    assert not (tmp_path / "run").exists()


def test_a_run_keeps_its_sentences_and_learns_the_same(text_file: Path, tmp_path: Path, run: Model) -> None:
    listener = Listener()
    wanted = recipe(text_file) | {"watch": {"sentences": ["She [MASK] it.", "It [MASK] ."]}}
    watched = train(wanted, out=tmp_path / "watched", progress=listener)
    assert same_weights(run, watched)
    found = read_watched(tmp_path / "watched" / FILE)
    assert list(found.records) == list(range(7))
    assert found.header is not None
    assert found.header["task"] == "masked-lm"
    assert any("of the time" in note for note in listener.notes)
    before, after = (found.records[step]["sentences"][0]["places"][0] for step in (0, 6))
    assert before != after


def test_a_hundred_records_of_the_models_size_are_small() -> None:
    import glassformer as gf
    from glassformer.base.json_text import sealed_line

    model = gf.load("english")
    given = [
        "The animal didn't cross the [MASK] because it was too tired.",
        "She [MASK] the summer better than the winter.",
        "The old man and the [MASK] went to the sea every day.",
    ]
    sentences = Sentences(model, given)
    with torch.no_grad():
        line = sealed_line({"step": 1, "sentences": sentences.look(model.module)})
    assert 100 * len(line) + len(sealed_line(dict(sentences.header))) <= 3_000_000
