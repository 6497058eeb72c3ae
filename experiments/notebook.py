"""docs/notebooks/mask-matrix.ipynb, for the dead link of the mask-matrix post: python -m experiments.notebook.

The cells are run one after the other, and the notebook keeps what they print. Jupyter is not needed to write it.
"""

from __future__ import annotations

import contextlib
import io
import json
from typing import Any

from experiments.page import DOCS

NOTEBOOK = DOCS / "notebooks" / "mask-matrix.ipynb"
CELLS = (
    """# The multi words mask matrix

Paul Xiong's post (May 2023) builds a "masked word activity matrix" and ends with a link to Colab that is dead.
This notebook computes all that the post shows, in its order. Numbers C-27 to C-35 are entries of
`docs/imprecise.md`. On the command line: `glassformer matrix --post`.""",
    """import torch

import glassformer as gf
from glassformer.bundled.texts import quick_brown_fox
from glassformer.parts.mask import draw

torch.set_printoptions(precision=4, sci_mode=False, linewidth=100)
post = quick_brown_fox()  # the sentence, and every number that the post prints
words, masked = post.sentence.words, post.sentence.masked_words
print(words)
print(post.sentence.masked)""",
    """## One vector for each word

The post draws them with `torch.randn`. These are the ones that it prints.""",
    """features = torch.tensor(post.features)  # [9, 2]
print(features)""",
    """## Products of all pairs, −∞, softmax

Row i has the products of all vectors with that of word i. The post's code then sets everything before *and*
after i to −∞, so that each word sees only itself, and the result is the identity (C-27).""",
    """code = gf.activity_matrix(features, masked, reading="code")
print(code.pairs[0])
print(code.masked[3])
print(code.result)
print("as the post prints it:", code.result.tolist() == [list(row) for row in post.matrix])""",
    """## What its text says instead

*Each token can only attend to previous non-masked tokens*: the word itself and those before it, never a masked
one. And, elsewhere, *all possible pairs*: both directions, masked words excepted (C-35). ■ = may look.""",
    """stated = gf.activity_matrix(features, masked, reading="stated")
pairs = gf.activity_matrix(features, masked, reading="pairs")
print(draw(stated.allowed, words))
print(stated.result)
print(draw(pairs.allowed, words))
print(pairs.result)""",
    """## Which printed numbers belong together

The second printed list of pair products is row 0 of these pairs. The first one is no row of them: it comes from
another run (C-28).""",
    """for printed in (post.first_pair_vectors, post.second_pair_vectors):
    apart = (code.pairs - torch.tensor(printed)).abs().amax(dim=1)
    print(f"nearest row: {int(apart.argmin())}, {float(apart.min()):.4f} away")""",
    """## A word that may see no word

If the first word is masked, no key is left for it, and softmax would divide zero by zero. A rule decides: it
sees itself, or its row is zero (C-29).""",
    """for rule in ("itself", "zero"):
    found = gf.activity_matrix(features, (0,), reading="stated", nothing_to_see=rule)
    print(found)
    print(found.result[0])""",
    """## Other masks

A window, a prefix that every word sees, and padding at the end: `glassformer matrix TEXT --window 2
--prefix-words 1 --padding-words 2`.""",
    """found = gf.activity_matrix(features, masked, window=2, prefix=1, padding=2)
print(found)
print(draw(found.allowed, words))""",
    """## Learned features

The post calls its random numbers learned. These are: the word vectors of a model of the package (`glassformer
matrix TEXT --model english`).""",
    """from glassformer.features.embed import word_vectors

learned = word_vectors(gf.load("english"), words, masked)  # [9, 192]
print(list(learned.shape))
print(gf.activity_matrix(learned, masked, reading="stated").result)""",
)
"""Text and code by turns, the first two being a text and code."""


def notebook() -> dict[str, Any]:
    """The notebook, format 4.5, with what its cells print when they are run here."""
    names: dict[str, Any] = {}
    cells = []
    for number, source in enumerate(CELLS):
        cell: dict[str, Any] = {
            "cell_type": "markdown",
            "id": f"cell-{number}",
            "metadata": {},
            "source": lines(source),
        }
        if number % 2:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(source, f"cell-{number}", "exec"), names)
            output = {"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())}
            cell |= {"cell_type": "code", "execution_count": number // 2 + 1, "outputs": [output]}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    NOTEBOOK.write_text(json.dumps(notebook(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(NOTEBOOK)
