"""Vectors of texts and words from a saved model, and one word in several texts, layer by layer.

W width · P words
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from glassformer.answering.answers import check_text
from glassformer.answering.engines.choice import engine_of, reading
from glassformer.base.errors import DataError
from glassformer.features.pooling import Reals
from glassformer.features.strategies import Mix, features_of
from glassformer.features.vectors import Vectors, VectorsOf, blocks_of, stack_of
from glassformer.saved.artefact import Artefact
from glassformer.tasks.predictor import Within, predict
from glassformer.text.tokenizer import MASK
from glassformer.text.words import Span, word_tokens


def vectors_of(
    model: Artefact,
    strategies: Sequence[str | Mix],
    poolings: Sequence[str] | None = None,
    *,
    words: bool = False,
    spans: Callable[[str], Sequence[Span]] | None = None,
) -> VectorsOf:
    """What makes the vectors of a model: of texts, their `words`, or the parts that `spans` finds in them. Without
    `poolings`, texts and parts are pooled as the model's own vectors are, and words by the mean. Raises ConfigError for
    an impossible strategy or pooling, TokenizerError for a model without a tokenizer.
    """
    tokenizer = model.tokenizer
    poolings = ("mean" if words else model.pooling,) if poolings is None else poolings
    features = features_of(strategies, poolings, blocks_of(model.module))
    return VectorsOf(model.module, tokenizer, features, length=model.row_tokens, words=words, spans=spans)


def embed(
    model: Artefact,
    maker: VectorsOf,
    records: Iterable[tuple[Mapping[str, object], str]],
    *,
    fast: bool | None = None,
    within: Within = lambda done, total: None,
) -> Iterator[Vectors]:
    """The vectors of each record (its text or words, and its file and line), in order, in bounded memory; in bfloat16
    where `fast` and the machine is faster with it (None: as the model was opened). `within` is called with the progress
    of a long text, in parts. Raises DataError for a record that cannot be used.
    """
    examples = (maker.example(values, where) for values, where in records)
    fast = model.fast if fast is None else fast and model.can_be_fast
    return predict(maker, model.module, examples, fast=fast, within=within, engine=engine_of(model))


def word_vectors(model: Artefact, words: Sequence[str], masked_words: Sequence[int] = ()) -> Tensor:
    """The vectors of words as the first layer of a model looks them up, [P, W]: of a word of several tokens their mean.
    A masked word has the vector of [MASK], or zeros in a model that zeroes it; its own in a model that knows no masks.
    Raises TokenizerError or DataError for a word that the model's vocabulary lacks.
    """
    tokenizer, embed_ = model.tokenizer, stack_of(model.module).embed
    zeroes = embed_.zero_word or embed_.zero_sum
    table = embed_.word.weight.detach().float().cpu() * embed_.scale
    found = []
    for place, word in enumerate(words):
        masked = place in masked_words or word == MASK
        if masked and zeroes:
            found.append(torch.zeros_like(table[0]))
            continue
        known = tokenizer.mask_id is not None
        text = MASK if masked and known else word
        ids = word_tokens(tokenizer, text, [(0, len(text))]).ids.tolist()
        if (text == MASK and not known) or tokenizer.unknown_id in ids:
            raise DataError("each word must be in the model's vocabulary", got=repr(word), do="choose another word")
        found.append(table[ids].mean(dim=0))  # [W]
    return torch.stack(found)  # [P, W]


@dataclass(frozen=True)
class Place:
    """A word in a text: the number of the text, from 0, and the characters [start, end)."""

    text: int
    start: int
    end: int


@dataclass(frozen=True)
class SameWord:
    """A word in several places. `cosines`: for each layer, the first being the vectors of the words alone (`word`), the
    cosine of the word's vector in the first place with that in each other place; `equal`: whether they are the same
    numbers.
    """

    word: str
    places: tuple[Place, ...]
    layers: tuple[str, ...]
    cosines: tuple[tuple[float, ...], ...]
    equal: tuple[tuple[bool, ...], ...]


def same_word(model: Artefact, word: str, texts: Sequence[str], *, pooling: str = "mean") -> SameWord:
    """One word wherever it occurs in these texts (ignoring case), compared layer by layer. Raises DataError where it
    does not occur twice, ConfigError as `vectors_of` does.
    """
    blocks = blocks_of(model.module)
    layers = ["word", *map(str, range(blocks + 1))]
    maker = vectors_of(model, layers, [pooling], words=True)
    found: list[tuple[Place, list[Reals]]] = []
    for number, each in enumerate(embed(model, maker, (({"text": text}, "") for text in texts))):
        for at, (start, end) in enumerate(each.offsets or ()):
            if each.text[start:end].casefold() == word.casefold():
                of_layers = [each.vectors[feature.name][at] for feature in maker.features]
                found.append((Place(number, start, end), of_layers))
    if len(found) < 2:
        raise DataError(
            f"the word {word!r} must occur at least twice to be compared",
            got=f"{len(found)} in {len(texts)} text{'s' * (len(texts) != 1)}",
            do="give two texts with it; words are split at blanks and punctuation",
        )
    (_, first), *others = found
    return SameWord(
        word,
        tuple(place for place, _ in found),
        ("word", "embedding", *(f"block {number}" for number in range(1, blocks + 1))),
        tuple(tuple(cosine(one, other[k]) for _, other in others) for k, one in enumerate(first)),
        tuple(tuple(bool(np.array_equal(one, other[k])) for _, other in others) for k, one in enumerate(first)),
    )


def cosine(one: Reals, other: Reals) -> float:
    """The cosine of the angle between two vectors; 0 where one of them is zero."""
    one, other = one.astype(np.float64), other.astype(np.float64)
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / lengths if lengths else 0.0


def alone(model: Artefact, text: object, strategy: object, pooling: object, *, fast: bool | None) -> Reals | None:
    """The vector [F] of a text that comes by itself, or [1, F] of the only one of a list, as of `Model.embed`; None
    where it takes more than an engine that has answered such a text before. Between two such texts the weights pass
    through the processor's caches, and each step around the engine is read from memory again: here are as few as there
    can be.
    """
    given = text[0] if isinstance(text, list | tuple) and len(text) == 1 else text
    if not (isinstance(given, str) and isinstance(strategy, str) and isinstance(pooling, str | None)):
        return None
    known = reading(model)
    if known is None:
        return None
    key = strategy, pooling or model.pooling, model.length
    maker: VectorsOf | None = known.makers.get(key)
    if maker is None or maker.tokenizer is not model.tokenizer:
        maker = known.makers[key] = vectors_of(model, [strategy], None if pooling is None else [pooling])
    narrow = model.fast if fast is None else fast and model.can_be_fast
    engine = known.reading.get((VectorsOf, maker.asks, model.engine, True, narrow))
    if engine is None or engine.alone is None:
        return None
    example = maker.example({"text": check_text(given, "a text")}, "")
    row = maker.whole(example)
    pooled = None if row is None else engine.alone(maker, row)
    if pooled is None:
        return None
    vector: Reals = maker.merge(example, [pooled]).vectors[maker.features[0].name]
    return vector if isinstance(text, str) else vector[None]
