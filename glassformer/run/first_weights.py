"""The weights that a run begins with: those of an existing model where they fit, drawn ones, and pretrained vectors.

W width · V vocabulary
"""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from glassformer.base.errors import DataError, ShapeError
from glassformer.config import ModelConfig
from glassformer.data.readers.lines import Line, read_lines
from glassformer.models.transformer import Transformer, build
from glassformer.text.tokenizer import Tokenizer

# Parameters with a row for each label.
LABEL_ROWS = ("sentence_head.output.", "token_head.output.", "token_head.crf.")

# How byte-level and unigram tokenizers write the space before a word.
_BLANKS = ("Ġ", "▁")


def adapt(start: Transformer, config: ModelConfig, *, seed: int, same_labels: bool) -> tuple[Transformer, str]:
    """A model of `config` with what `start` has in equal name and shape; the rest is drawn from the seed, rows of
    labels too unless they are the `same_labels`. And a sentence about it.
    """
    if config == start.config and same_labels:
        return start, ""
    module = build(config, seed=seed)
    mine, theirs = dict(module.named_parameters()), dict(start.named_parameters())
    taken = [
        name
        for name, parameter in mine.items()
        if name in theirs and theirs[name].shape == parameter.shape and (same_labels or not name.startswith(LABEL_ROWS))
    ]
    with torch.no_grad():
        for name in taken:
            mine[name].copy_(theirs[name])
    fresh, left = sorted(mine.keys() - set(taken)), sorted(theirs.keys() - set(taken))
    summary = f"{len(taken)} tensors taken from the start model, {len(fresh)} fresh"
    if fresh:
        summary += f": {_short(fresh)}"
    return module, f"{summary}; left behind: {_short(left)}" if left else summary


def _short(names: list[str]) -> str:
    """Names grouped by their common module: `sentence_head.output.{bias,weight}`."""
    by_module: dict[str, list[str]] = {}
    for name in names:
        module, _, last = name.rpartition(".")
        by_module.setdefault(module, []).append(last)
    return ", ".join(
        f"{module}.{{{','.join(lasts)}}}" if len(lasts) > 1 else f"{module}.{lasts[0]}"
        for module, lasts in by_module.items()
    )


def use_vectors(module: Transformer, tokenizer: Tokenizer, path: str | Path, *, freeze: bool) -> str:
    """Copy the vectors of tokens that are words of the file, and return a sentence; with `freeze` no word vector is
    trained. Raises DataError, and ShapeError for vectors of another length.
    """
    sides = _sides(module, tokenizer)
    places: dict[str, list[tuple[int, int]]] = {}  # side and row of its table
    for number, (_, side) in enumerate(sides):
        for id_, word in _words_by_id(side):
            places.setdefault(word, []).append((number, id_))
    width = module.word_table.shape[1]
    found: set[tuple[int, int]] = set()
    with torch.no_grad():
        for line, word, numbers in _vectors(Path(path)):
            if len(numbers) != width:
                raise ShapeError(
                    f"word vectors must be as long as the model is wide, {width}",
                    got=f"{len(numbers)} numbers in {path}, line {line.number}",
                    do=f"set model.settings.width = {len(numbers)}",
                )
            for place in places.get(word, ()):
                if place not in found:
                    table, _ = sides[place[0]]
                    table[place[1]] = _floats(numbers, path, line)
                    found.add(place)
    if not found:
        raise DataError(f"{path} must share words with the vocabulary", got="none in common")
    for table, _ in sides:
        table.requires_grad_(not freeze)
    frozen = ", frozen" if freeze else ""
    tokens = sum(side.vocabulary_size for _, side in sides)
    return f"{len(found):,} of {tokens:,} tokens have a vector in {path}{frozen}"


def _sides(module: Transformer, tokenizer: Tokenizer) -> list[tuple[Tensor, Tokenizer]]:
    """The tables [V, W] of source and target with the tokenizer of each; once where both are one."""
    source = module.output_stack if module.encoder is None else module.encoder
    both = [(source.embed.word.weight, tokenizer), (module.word_table, tokenizer.target)]
    return both[:1] if both[0][0] is both[1][0] else both


def _words_by_id(tokenizer: Tokenizer) -> Iterator[tuple[int, str]]:
    for id_, token in enumerate(tokenizer.vocabulary()):
        if id_ not in tokenizer.special_ids and token:
            yield id_, token[1:] if token.startswith(_BLANKS) else token


def _vectors(path: Path) -> Iterator[tuple[Line, str, list[str]]]:
    """Word and numbers of each line. A first line of two numbers is a header of word2vec."""
    for line in read_lines(path):
        word, *numbers = line.text.rstrip().split(" ")
        if line.number == 1 and len(numbers) == 1 and word.isdigit():
            continue
        if word or numbers:
            yield line, word, numbers


def _floats(numbers: list[str], path: str | Path, line: Line) -> Tensor:
    try:
        return torch.tensor([float(number) for number in numbers])  # [W]
    except ValueError:
        raise DataError(f"{path}, line {line.number} must hold a word and numbers", got=line.text[:60]) from None
