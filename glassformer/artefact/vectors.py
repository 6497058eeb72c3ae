"""Pretrained word vectors (GloVe, word2vec text files) as the initial embeddings of a model.

W width · V vocabulary
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from glassformer.data.lines import Line, read_lines
from glassformer.errors import DataError, ShapeError
from glassformer.models.transformer import Transformer
from glassformer.text.tokenizer import Tokenizer

# How byte-level and unigram tokenizers write the space before a word.
_BLANKS = ("Ġ", "▁")


def use_vectors(module: Transformer, tokenizer: Tokenizer, path: str | Path, *, freeze: bool) -> str:
    """Copy the vector of each token that is a word of the file; the others stay random. Returns how many were found.

    With `freeze` no word vector is trained. Raises DataError for a file that cannot be read, ShapeError when its
    vectors are not as long as the model's.
    """
    table = module.word_table  # [V, W]
    places = _ids_by_word(tokenizer)
    found: set[int] = set()
    with torch.no_grad():
        for line, word, numbers in _vectors(Path(path)):
            if len(numbers) != table.shape[1]:
                raise ShapeError(
                    f"word vectors must be as long as the model is wide, {table.shape[1]}",
                    got=f"{len(numbers)} numbers in {path}, line {line.number}",
                    do=f"set model.settings.width = {len(numbers)}",
                )
            for place in places.get(word, ()):
                if place not in found:
                    table[place] = _floats(numbers, path, line)
                    found.add(place)
    if not found:
        raise DataError(f"{path} must share words with the vocabulary", got="none in common")
    table.requires_grad_(not freeze)
    frozen = ", frozen" if freeze else ""
    return f"{len(found):,} of {len(tokenizer.vocabulary()):,} tokens have a vector in {path}{frozen}"


def _ids_by_word(tokenizer: Tokenizer) -> dict[str, list[int]]:
    """The ids of the tokens that begin a word, by that word."""
    places: dict[str, list[int]] = {}
    for id_, token in enumerate(tokenizer.vocabulary()):
        if id_ not in tokenizer.special_ids and token:
            word = token[1:] if token.startswith(_BLANKS) else token
            places.setdefault(word, []).append(id_)
    return places


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
