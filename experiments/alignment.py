"""How well the attention of a translator aligns words: twelve pairs of multi30k's test 2016, aligned by hand.

    python -m experiments.alignment MODEL

The alignment error rate (Och & Ney 2003) of the mean of all layers, of each layer's mean and of each head of the last.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

import glassformer as gf
from experiments.results import data_directory
from glassformer.scoring.score import Reals
from glassformer.tasks.writing.alignment import align, alignment_error_rate, mean_attention
from glassformer.tasks.writing.translation import source_spans
from glassformer.text.words import Span, find_words

# By line of the test from 0: the links that are sure, and those that are possible, as source-target numbers of words.
LINKS = {
    0: ("0-0 1-1 2-2 3-3 4-5 5-4 6-6 8-7 8-8 9-9", "7-6"),
    1: ("0-0 1-3 2-1 4-4 5-5 8-8 7-9 10-10 12-11 14-12 13-13 15-14", "3-4 9-10 11-10 1-2 2-2 8-6 8-7 6-9"),
    2: ("0-0 1-1 2-2 3-5 4-3 5-6 6-7 7-8 8-9 9-10 11-11 11-13 12-14", "3-4 4-4 11-12 10-11"),
    3: (
        "0-0 1-1 2-2 3-7 4-4 5-8 6-10 7-12 8-13 9-14 10-15 11-16 12-17 13-19 14-20 16-21 16-23 17-24",
        "4-3 3-5 3-6 6-9 7-11 13-18 16-22 15-20 15-21",
    ),
    4: ("0-1 2-2 3-3 4-4 5-5 6-7 7-8 8-9", "0-0 1-2 5-6"),
    5: (
        "0-0 1-1 2-2 3-4 5-3 6-5 7-6 8-7 9-8 10-10 11-11 12-14 13-13 14-15 15-17 16-19 17-20 18-23 19-24 20-25 21-26 "
        "22-28 24-29 23-30 25-31",
        "4-4 9-9 13-12 15-16 17-21 17-22 21-27 16-18",
    ),
    6: ("0-0 1-1 2-2 3-3 4-4 6-5 8-6 9-7 10-8", "5-5 7-5"),
    8: ("0-0 1-1 2-2 3-3 4-4 5-5 6-6", ""),
    9: ("0-0 1-1 2-2 4-3 5-4 6-5 7-6 8-7 9-8 10-9 11-10 12-12 13-13", "12-11 3-3"),
    10: ("0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-9 8-10 9-11 10-12 11-13", "6-7 6-8"),
    11: ("0-1 1-2 2-4 3-5 4-6 5-7 6-8 7-9 8-10 9-11 10-12 11-15 12-16 13-17 14-18 15-20 16-21", "0-0 1-3 11-14 14-19"),
    12: ("0-0 1-1 2-2 3-3 4-4 5-5 6-6 7-7 8-8 9-9 10-10", ""),
}
Links = set[tuple[int, int]]
# Words of a line: those of all lines are numbered together.
MOST = 1000


class Looked(NamedTuple):
    """A pair: the number of its line, the spans of tokens and words of both sides, and the weights [L, H, T, S]."""

    line: int
    tokens: tuple[list[Span], list[Span]]
    words: tuple[list[Span], list[Span]]
    weights: Reals

    def links(self, layers: list[int] | None, heads: list[int] | None) -> Links:
        """The links that these layers and heads make."""
        source, target = ({span: number for number, span in enumerate(words)} for words in self.words)
        found = align(mean_attention(self.weights, layers=layers, heads=heads), *self.tokens, *self.words)
        return {(MOST * self.line + source[link.source], target[link.target]) for link in found}


def looked(model: gf.Model) -> Iterator[Looked]:
    """What the model looks at while it reads each target."""
    folder = data_directory() / "multi30k_en_fr"
    files = [folder / f"test_2016_flickr.{side}.gz" for side in ("en", "fr")]
    sides = [gzip.decompress(path.read_bytes()).decode().split("\n") for path in files]
    for line, (source, target) in enumerate(zip(*sides, strict=True)):
        if line in LINKS:
            trace = model.trace(source, target)
            blocks = range(len(model.module.output_stack.blocks))
            weights = [trace[f"decoder.blocks.{block}.cross_attention.weights"][0].numpy() for block in blocks]
            tokens = source_spans(model.tokenizer, source), source_spans(model.tokenizer.target, target)
            yield Looked(line, tokens, (find_words(source), find_words(target)), np.array(weights, np.float64))


def by_hand(which: int) -> Links:
    """The links that are sure (0) or possible (1)."""
    each = ((line, link.split("-")) for line, links in LINKS.items() for link in links[which].split())
    return {(MOST * line + int(source), int(target)) for line, (source, target) in each}


def main(folder: str) -> None:
    """Print the table of one model."""
    found = list(looked(gf.load(folder)))
    layers, heads = found[0].weights.shape[:2]
    rows: dict[str, tuple[list[int] | None, list[int] | None]] = {"all layers and heads": (None, None)}
    rows |= {f"layer {layer}, all heads": ([layer], None) for layer in range(layers)}
    rows |= {f"layer {layers - 1}, head {head}": ([layers - 1], [head]) for head in range(heads)}
    for name, chosen in rows.items():
        links = {link for each in found for link in each.links(*chosen)}
        print(f"{name:24}{alignment_error_rate(links, by_hand(0), by_hand(1)):6.3f}")


if __name__ == "__main__":
    main(sys.argv[1])
