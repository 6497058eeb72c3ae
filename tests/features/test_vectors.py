"""Vectors against transformers' hidden states, worked out by numpy alone."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import ConfigError, DataError, NotFiniteError, TokenizerError
from glassformer.features.embed import embed, same_word, vectors_of
from glassformer.features.strategies import SIX, Mix
from glassformer.features.vectors import VectorsOf, note_of
from glassformer.models.families import gpt2
from glassformer.models.transformer import build
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.words import find_words
from tests.refusals import refused

TEXTS = [
    "The bank raised its interest rates again.",
    "She sat.",
    "We walked along the bank of the river until the unbelievably picturesque waterfalls came into sight, and rested.",
    "Help",
]
WEIGHTS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.2, 0.05)


def hidden_states(folder: Path, rows: Sequence[Sequence[int]]) -> list[list[Any]]:
    """For each row its layers as numpy arrays [S, W], from transformers, each row by itself: no padding."""
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    found = []
    with torch.inference_mode():
        for row in rows:
            states = model(input_ids=torch.tensor([row]), output_hidden_states=True).hidden_states
            found.append([state[0].double().numpy() for state in states])
    return found


def joined(layers: list[Any], strategy: str) -> Any:
    """The six strategies of the source documents, a mean and a mix, as numpy reads them."""
    if strategy == "concat-last-4":
        return np.concatenate(layers[-4:], axis=1)
    return {
        "embedding": lambda: layers[0],
        "last": lambda: layers[-1],
        "second-to-last": lambda: layers[-2],
        "sum-all": lambda: sum(layers[1:]),
        "sum-last-4": lambda: sum(layers[-4:]),
        "mean:1,3": lambda: (layers[1] + layers[3]) / 2,
        "mix": lambda: 1.5 * sum(weight * layer for weight, layer in zip(WEIGHTS, layers, strict=True)),
    }[strategy]()


POOL: dict[str, Callable[[Any], Any]] = {
    "first": lambda tokens: tokens[0],
    "mean": lambda tokens: tokens.mean(axis=0),
    "max": lambda tokens: tokens.max(axis=0),
    "last-token": lambda tokens: tokens[-1],
}
STRATEGIES = [*SIX, "mean:1,3", "mix"]


def asked() -> list[str | Mix]:
    return [*SIX, "mean:1,3", Mix(WEIGHTS, 1.5)]


def test_texts_have_the_vectors_that_numpy_finds_in_transformers(encoder: Model, encoder_folder: Path) -> None:
    """All strategies and poolings in one pass, in one batch with padding, against each text alone."""
    found = encoder.embed(TEXTS, strategy=asked(), pooling=list(POOL))
    assert set(found) == {f"{strategy}.{pooling}" for strategy in STRATEGIES for pooling in POOL}
    rows = [encoding.ids for encoding in encoder.tokenizer.encode_batch(TEXTS)]
    assert len({len(row) for row in rows}) > 2  # padding
    for number, layers in enumerate(hidden_states(encoder_folder, rows)):
        for strategy in STRATEGIES:
            tokens = joined(layers, strategy)
            for pooling, pool in POOL.items():
                ours = found[f"{strategy}.{pooling}"][number]
                assert np.abs(ours - pool(tokens)).max() <= 2e-5, (strategy, pooling)  # float32, sums in another order


def test_words_of_several_tokens_are_joined_by_the_pooling(encoder: Model, encoder_folder: Path) -> None:
    found = encoder.embed(TEXTS, strategy=asked(), pooling=list(POOL), words=True)
    theirs = transformers.AutoTokenizer.from_pretrained(encoder_folder)
    longest = 0
    for each, layers in zip(found, hidden_states(encoder_folder, theirs(TEXTS)["input_ids"]), strict=True):
        encoding = theirs(each.text)
        assert each.offsets == tuple(find_words(each.text))
        for strategy in STRATEGIES:
            tokens = joined(layers, strategy)
            for number in range(len(each.offsets)):
                its = [place for place, word in enumerate(encoding.word_ids()) if word == number]
                longest = max(longest, len(its))
                for pooling, pool in POOL.items():
                    ours = each.vectors[f"{strategy}.{pooling}"][number]
                    # Sums of up to seven layers, in float32.
                    assert np.abs(ours - pool(tokens[its])).max() <= 4e-5, (strategy, pooling)
    assert longest > 2


def test_words_that_are_split_already_are_those_of_the_same_text(model: Model) -> None:
    """Where blanks and punctuation part a text into the very words that are given; others stay as they are given."""
    model.module.double()
    sentences = [["The", "dog", "sat", ".", "It", "slept"], ["he"], ["the", "dog", "on", "the", "mat"] * 4]
    asked: dict[str, Any] = {"strategy": ["word", "2", "last"], "pooling": ["first", "mean", "max"]}
    given = model.embed(words=sentences, **asked)
    found = model.embed([" ".join(words) for words in sentences], words=True, **asked)
    assert max(each.windows for each in given) > 1
    for words, one, two in zip(sentences, given, found, strict=True):
        assert one.words == two.words == tuple(words)
        assert (one.text, one.offsets, one.windows) == (two.text, two.offsets, two.windows)
        assert (one.given, two.given) == (True, False)
        assert all(np.array_equal(one.vectors[name], of) for name, of in two.vectors.items())
    (own,) = model.embed(words=[("the dog", "sat.")])
    assert (own.words, own.vectors["last.mean"].shape) == (("the dog", "sat."), (2, 16))
    both = model.embed("he", words=[["he"]])  # the words of the text first, as `tag` has it
    assert [(each.words, each.given) for each in both] == [(("he",), False), (("he",), True)]
    assert model.embed(words=[]) == []


def test_words_that_are_none_are_refused_by_their_number(model: Model) -> None:
    given: tuple[tuple[Any, str], ...] = (([["he"], []], "[]"), ([["he"], ["he", " "]], "' '"), ([["he"], [3]], "[3]"))
    for words, got in given:
        with refused(DataError, wanted="sentence 2 of 2", got=got):
            model.embed(words=words)
    with refused(DataError, wanted="sentence 1 of 2", got="'he'", do="words=[["):
        model.embed(words=["he", "sat"])
    with refused(DataError, got="'he sat'"):
        model.embed(words="he sat")
    with refused(DataError, wanted="text 1 of 1", do="words="):
        model.embed([["he", "sat"]], words=True)  # type: ignore[list-item]


def test_one_pass_however_many_strategies(encoder: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = encoder.module.encoder
    assert stack is not None
    runs = [0] * len(stack.blocks)
    for number, block in enumerate(stack.blocks):
        forward = block.forward

        def counted(*given: Any, forward: Any = forward, number: int = number, **named: Any) -> Any:
            runs[number] += 1
            return forward(*given, **named)

        monkeypatch.setattr(block, "forward", counted)
    together = [TEXTS[0]] * 3
    encoder.embed(together, strategy=asked(), pooling=list(POOL))
    assert runs == [1] * 6
    encoder.embed(together, strategy=["embedding", "2"])  # what nobody asks for is not computed
    assert runs == [2, 2, 1, 1, 1, 1]


def test_a_text_in_windows_counts_each_token_once(model: Model) -> None:
    """Of rows of 16 tokens: the mean is that of the windows' own tokens, by hand."""
    text = " ".join(["the dog sat on the mat and slept"] * 6)
    maker = vectors_of(model, ["last"], ["mean", "max", "first", "last-token"])
    (example,) = [maker.example({"text": text}, "")]
    rows = list(maker.rows(example))
    assert len(rows) > 2
    tokens = []
    for row in rows:
        with torch.inference_mode():
            states = list(maker.stack.layers(inputs_of(row.ids)))[-1][0].numpy()
        tokens += [state for state, part in zip(states, row.labels["part"], strict=True) if part == 0]
    expected = np.array(tokens)
    before, after = model.tokenizer.frame
    assert len(expected) == len(model.tokenizer.ids(text)) + before + after
    (each,) = embed(model, maker, [({"text": text}, "")])
    assert each.windows == len(rows)
    assert each.vectors["last.mean"] == pytest.approx(expected.mean(axis=0), abs=1e-5)
    assert each.vectors["last.max"] == pytest.approx(expected.max(axis=0), abs=1e-5)
    assert each.vectors["last.first"] == pytest.approx(expected[0], abs=1e-5)
    assert each.vectors["last.last-token"] == pytest.approx(expected[-1], abs=1e-5)
    by_word = model.embed(text, words=True)
    assert by_word.vectors["last.mean"].shape == (len(find_words(text)), 16)
    assert np.isfinite(by_word.vectors["last.mean"]).all()


def test_a_text_longer_than_what_is_read_ahead_is_put_together_as_it_comes(model: Model) -> None:
    """The same vectors as of a text that is read as a whole; of words as they are known; nothing waits for the end."""
    text = " ".join(["the dog sat on the mat and slept unbelievably"] * 30)
    poolings = ["mean", "max", "first", "last-token"]
    (whole,) = embed(model, vectors_of(model, ["last"], poolings), [({"text": text}, "")])
    (words,) = embed(model, vectors_of(model, ["last"], poolings, words=True), [({"text": text}, "")])
    waited: list[int] = []

    class Watched(VectorsOf):
        def merge(self, example: Any, found: Any) -> Any:
            waited.append(len(found))
            return super().merge(example, found)

    notes: list[tuple[int, int | None]] = []
    for by_word, expected in ((False, whole), (True, words)):
        asked = vectors_of(model, ["last"], poolings, words=by_word)
        maker = Watched(model.module, model.tokenizer, asked.features, length=model.row_tokens, words=by_word)
        maker.read_ahead, maker.streamed = 5, by_word
        records = [({"text": each}, "") for each in ("the dog", text, "a cat")]
        come = list(embed(model, maker, records, within=lambda done, of: notes.append((done, of))))
        mine = [each for each in come if each.text == text]
        assert [each.more for each in mine] == [True] * (len(mine) - 1) + [False]
        assert len(mine) > 5 if by_word else len(mine) == 1
        assert mine[-1].windows == expected.windows > 64
        assert [come[0].text, come[-1].text] == ["the dog", "a cat"]
        for name, of in expected.vectors.items():
            found = np.concatenate([each.vectors[name] for each in mine]) if by_word else mine[0].vectors[name]
            np.testing.assert_allclose(found, of, rtol=0, atol=2e-6)
        assert by_word is False or sum((each.offsets or () for each in mine), ()) == expected.offsets
    assert max(waited) <= 6
    assert all(of == whole.windows for _, of in notes)
    assert {done for done, _ in notes} >= {65, whole.windows}


def inputs_of(ids: Sequence[int]) -> Any:
    from glassformer.models.inputs import Inputs

    return Inputs(ids=torch.tensor([list(ids)]))


def test_a_vector_does_not_depend_on_its_neighbours(model: Model) -> None:
    model.module.double()
    texts = ["the dog", "a cat sat on the mat and slept well", "he", "the dog likes the cat"]
    together = model.embed(texts, strategy=list(SIX), pooling=["first", "mean", "max"])
    for number, text in enumerate(texts):
        alone = model.embed(text, strategy=list(SIX), pooling=["first", "mean", "max"])
        for name, vectors in together.items():
            assert np.abs(vectors[number] - alone[name]).max() <= 1e-12


def test_one_word_in_two_sentences(encoder: Model) -> None:
    found = same_word(encoder, "bank", TEXTS)
    assert [TEXTS[place.text][place.start : place.end] for place in found.places] == ["bank", "bank"]
    assert found.layers == ("word", "embedding", *(f"block {number}" for number in range(1, 7)))
    assert found.equal[0] == (True,)
    assert found.cosines[0][0] == pytest.approx(1)
    assert [equal for (equal,) in found.equal[1:]] == [False] * 7
    assert all(found.cosines[layer][0] < 0.99 for layer in range(1, 8))
    one, other = (encoder.embed(TEXTS[number], strategy="last", words=True) for number in (0, 2))
    vectors = [each.vectors["last.mean"][each.words.index("bank")] for each in (one, other)]
    cosine = vectors[0] @ vectors[1] / np.linalg.norm(vectors[0]) / np.linalg.norm(vectors[1])
    assert found.cosines[-1][0] == pytest.approx(cosine, abs=1e-6)
    with refused(DataError, wanted="waterfall", got="0"):
        same_word(encoder, "waterfall", TEXTS)


@pytest.mark.parametrize("name", ["en-fr", "writer"])
def test_one_text_of_a_model_without_tokens_before_it(name: str) -> None:
    """Alone a text is cut into windows, with others it is tokenized with them."""
    model = gf.load(name)
    one, *_ = model.embed(["I am a student.", "The dog sat."])
    assert np.allclose(model.embed("I am a student."), one, atol=1e-6)  # float32 of batches of one and of two


def test_features_of_a_decoder_and_what_its_tokens_have_seen(tokenizer: Tokenizer) -> None:
    module = build(gpt2(layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=64))
    decoder = Model(module, tokenizer)
    one = decoder.embed("the dog sat", pooling=["first", "last-token"])
    other = decoder.embed("the dog slept", pooling=["first", "last-token"])
    assert np.array_equal(one["last.first"], other["last.first"])  # it has seen nothing but itself
    assert not np.allclose(one["last.last-token"], other["last.last-token"])
    assert "last-token" in note_of(module, ["first"])
    assert "last" in note_of(module, ["mean"])


def test_the_last_layer_is_what_the_heads_read(tokenizer: Tokenizer) -> None:
    """Of a model with a norm at the end, the states after this norm, as transformers has them."""
    from glassformer.models.inputs import Inputs

    module = build(gpt2(layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=64)).eval()
    ids = torch.tensor([[3, 4, 5]])
    with torch.inference_mode():
        *_, last = module.output_stack.layers(Inputs(ids=ids))
        assert torch.equal(last, module(Inputs(ids=ids), heads=()).states)


def test_vectors_that_are_no_numbers_are_refused(model: Model) -> None:
    """Of a model whose training diverged: neither a file nor an index nor a classifier gets them."""
    model.module.get_parameter("encoder.blocks.2.feed_forward.body.output.bias").data[3] = float("nan")
    assert np.isfinite(model.embed("the dog", strategy="1")).all()
    for words in (False, True):
        with refused(NotFiniteError, got=("last.mean", "the dog"), do="learning rate"):
            model.embed(["the dog"], words=words)


def test_what_is_no_strategy_and_two_mixes_of_one_name_are_refused(model: Model) -> None:
    for strategy, got in ((-2, "-2"), (None, "None"), ([3, "last"], "3")):
        with refused(ConfigError, got=got):
            model.embed("he", strategy=strategy)  # type: ignore[arg-type]
    with refused(ConfigError, wanted="3"):
        model.embed("he", pooling=[3])  # type: ignore[list-item]
    one, two = Mix((0.2,) * 5), Mix((0.5, 0.5, 0.0, 0.0, 0.0))
    assert set(model.embed("he", strategy=[one, one])) == {"mix.mean"}
    with refused(ConfigError, got="two mixes called mix"):
        model.embed("he", strategy=[one, two])


def test_a_model_without_a_tokenizer_and_a_text_that_is_none(model: Model) -> None:
    with refused(TokenizerError, got="without"):
        Model(model.module).embed("a text")
    with refused(DataError, got="None"):
        model.embed([None])  # type: ignore[list-item]
    with refused(DataError, got="array('he'"):
        model.embed(np.array("he"))  # type: ignore[arg-type]
    for words in (False, True):
        with refused(DataError, wanted="text 2 of 2", got="ud800"):  # from Python alone: no file of text holds it
            model.embed(["he", "he \ud800"], words=words)
    (blank, he) = model.embed(["   ", "he"], words=True)
    assert (blank.words, blank.vectors["last.mean"].shape) == ((), (0, 16))
    assert he.words == ("he",)
    assert model.embed("").shape == (16,)  # [CLS] and [SEP]
    assert model.embed([]).shape == (0, 16)
    found = gf.load("writer").embed(["he", ""])  # a decoder without special tokens: row n is text n all the same
    assert np.abs(found[0]).max() > 0
    assert not found[1].any()
