from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from glassformer.base.errors import ConfigError, DataError
from glassformer.base.lines import label, screen_width, wrapped
from glassformer.base.wrapping import in_one_line
from glassformer.bundled.texts import notes_about, quick_brown_fox
from glassformer.cli.look.matrix_printed import LONGEST_WORD, against_the_post, flowing, print_notes, show_guide, table
from glassformer.cli.terminal.opened import Machine
from glassformer.cli.terminal.options import HTML, MODEL, STDIN, WHICH, Json, Notes, Seed
from glassformer.cli.terminal.screen import record
from glassformer.cli.terminal.texts import texts_to_explain
from glassformer.text.tokenizer import MASK

if TYPE_CHECKING:
    from torch import Tensor

    from glassformer.api.model import Model
    from glassformer.parts.activity import ActivityMatrix, Reading

# The post masks one word of nine.
_SHARE = 0.11
# The matrix has as many numbers as the square of this.
_MOST_WORDS = 512
# A model's vector has hundreds of numbers: the terminal shows the first.
_SHOWN = 8
_READINGS: Mapping[Reading, str] = {
    "code": "as in the post's code, a word sees only itself",
    "stated": "as its text states, a word sees itself and those before it, never a masked word",
    "pairs": "as its text says elsewhere, a word sees every word that is not masked",
}

_TEXT = f"A text. {STDIN}"
_POST = "Use the post's own text, masked word and vectors, and show all three readings."
_GUIDE = (
    "Show how two other tutorials scale attention scores: the scores 112 and 96 that they print, these divided by "
    "√d_k, and the softmax of the quotients."
)
_QUERY_SIZE = "Size of queries and keys, d_k, for --guide.  [default: 64]"
_MASK_FRACTION = (
    f"Fraction of the words that are replaced by [MASK] at random (at least one of several).  [default: {_SHARE}; "
    f"0 if the text contains {MASK}]"
)
_READING = (
    "Which words a word attends to: code (only itself, as in the post's code), stated (itself and the earlier "
    "unmasked words, as the post's text states) or pairs (all unmasked words, as the text says elsewhere).  [default: "
    "stated; all three with --post]"
)
_WINDOW = "Each word attends only to words at most this far away.  [default: any distance]"
_PREFIX_WORDS = "Every word attends to the first N words."
_PADDING_WORDS = "The last N words are padding: no word attends to them."
_WORD_VECTORS = "Word vectors: random, or printed (the nine vectors in the post).  [default: random]"
_MODEL = f"{MODEL}  Only its word vectors are used. Give {WHICH}.  [default: none]"
_WIDTH = "Width of a random vector.  [default: 2]"
_NOTHING_TO_SEE = "What a word attends to if all cells of its row are masked: itself, or zero (its row is zero)."


def matrix(
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help=_TEXT, show_default=False)] = None,
    post: Annotated[bool, typer.Option("--post", help=_POST)] = False,
    guide: Annotated[bool, typer.Option("--guide", help=_GUIDE)] = False,
    query_size: Annotated[int | None, typer.Option("--query-size", min=1, max=2**20, help=_QUERY_SIZE)] = None,
    mask_fraction: Annotated[float | None, typer.Option("--mask-fraction", min=0, max=1, help=_MASK_FRACTION)] = None,
    seed: Seed = 0,
    reading: Annotated[Literal["code", "stated", "pairs"] | None, typer.Option("--reading", help=_READING)] = None,
    window: Annotated[int | None, typer.Option("--window", min=1, max=512, help=_WINDOW)] = None,
    prefix_words: Annotated[int, typer.Option("--prefix-words", min=0, max=512, help=_PREFIX_WORDS)] = 0,
    padding_words: Annotated[int, typer.Option("--padding-words", min=0, max=512, help=_PADDING_WORDS)] = 0,
    word_vectors: Annotated[
        Literal["random", "printed"] | None, typer.Option("--word-vectors", help=_WORD_VECTORS)
    ] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help=_MODEL)] = None,
    width: Annotated[int | None, typer.Option("--width", min=1, max=4096, help=_WIDTH)] = None,
    nothing_to_see: Annotated[
        Literal["itself", "zero"], typer.Option("--nothing-to-see", help=_NOTHING_TO_SEE)
    ] = "itself",
    notes: Notes = False,
    html: Annotated[Path | None, typer.Option("--html", writable=True, help=HTML)] = None,
    json: Json = False,
) -> None:
    """Compute the "masked word activity matrix" of Paul Xiong's blog post "How the Multi words mask matrix was build
    [sic] with an example" for a text, step by step. Some words are replaced by [MASK]. The dot products of all
    pairs of word vectors form a matrix. In the row of each word, the cells of the words that it does not attend to are
    masked; a softmax over each row gives the result. The post's code and its text mask different cells:
    --reading chooses which to follow. --post shows the post's own numbers, --guide those of the "Illustrated
    Guide to Transformers" and of the lecture notes "Transformers and BERT".
    """
    own = {
        "--reading": reading,
        "--window": window,
        "--prefix-words": prefix_words or None,
        "--padding-words": padding_words or None,
    }
    taken = {"a text": text, "--mask-fraction": mask_fraction, "--word-vectors": word_vectors}
    taken |= {"--model": model, "--width": width}
    if guide:
        unseen = None if nothing_to_see == "itself" else nothing_to_see
        _refuse("--guide", {"--post": post or None, **taken, **own, "--seed": seed or None, "--nothing-to-see": unseen})
        show_guide(query_size or 64, notes=notes, html=html, json=json)
        return
    if post:
        _refuse("--post", taken)
    elif text is None:
        raise DataError("a text is needed", got="none", do="write one in quotes, or show the post's own with --post")
    _refuse("a matrix of words", {"--query-size": query_size}, "it belongs to --guide")
    if model is not None:
        _refuse("--model", {"--word-vectors": word_vectors, "--width": width})
    masks = {"nothing_to_see": nothing_to_see, "window": window, "prefix": prefix_words, "padding": padding_words}
    asked = _Asked(
        mask_fraction, seed, word_vectors or "random", width, masks, None if model is None else Machine().open(model)
    )
    readings: list[Reading] = [reading or "stated"]
    if post:
        asked, texts = replace(asked, source="printed"), [quick_brown_fox().sentence.masked]
        readings = readings if reading else list(_READINGS)
    else:
        texts = list(texts_to_explain([text or ""]))
    if html is not None and len(texts) > 1:
        raise DataError("--html draws one text", got=str(len(texts)), do="give one text")
    matrices: list[ActivityMatrix] = []
    for count, (each, read) in enumerate((each, read) for each in texts for read in readings):
        shown = _shown(each, read, asked)
        matrices.append(shown.matrix)
        if html is not None and not count:
            shown.write_page(html)
        if json:
            record(shown.to_dict(), sys.stdout)
            continue
        if count:
            print()
        print(*shown.lines(screen_width(), begin=6 if post and count else 1), sep="\n")
        if notes and not post:
            print_notes(notes_about("verb.matrix"))
    if post and not json:
        print(*against_the_post(matrices, screen_width()), sep="\n")
        if notes:
            print_notes(notes_about("verb.matrix"))


def _refuse(what: str, options: Mapping[str, object], do: str = "leave it out") -> None:
    """Raise ConfigError for the first of these options that was given."""
    for option, value in options.items():
        if value is not None:
            raise ConfigError(f"{what} does not take {option}", got="" if value is True else str(value), do=do)


@dataclass(frozen=True)
class _Asked:
    """The options of a matrix; `source`: where the word vectors are from, unless from a `model`."""

    hide: float | None
    seed: int
    source: str
    width: int | None
    masks: Mapping[str, Any]
    model: Model | None

    @property
    def name(self) -> str:
        return self.source if self.model is None else Path(self.model.source or "model").name


@dataclass(frozen=True)
class _Shown:
    """All steps for one text; `masked_words` are the positions of those chosen at random or written [MASK]."""

    words: tuple[str, ...]
    masked_words: tuple[int, ...]
    share: float
    asked: _Asked
    features: Tensor
    matrix: ActivityMatrix

    @property
    def seen(self) -> tuple[str, ...]:
        return tuple(MASK if place in self.masked_words else word for place, word in enumerate(self.words))

    def to_dict(self) -> dict[str, Any]:
        matrix, asked = self.matrix, self.asked
        return {
            "words": self.words,
            "masked_words": self.masked_words,
            "seen": self.seen,
            "seed": asked.seed,
            "features_from": asked.name,
            "features": self.features.tolist(),
            "reading": matrix.reading,
            "mask": matrix.mask,
            "nothing_to_see": matrix.rule,
            "without_keys": matrix.without_keys,
            **{name: step.tolist() for name, step in matrix.steps.items()},
        }

    def write_page(self, path: Path) -> None:
        from glassformer.page.matrix_page import write_matrix_page

        write_matrix_page(path, self.words, self.masked_words, self.features, self.matrix, overwrite=True)

    def lines(self, width: int, *, begin: int = 1) -> Iterator[str]:
        """The steps from number `begin` on."""
        matrix, count, asked = self.matrix, len(self.words), self.asked
        shape = f"[{count}, {count}]"
        labels = tuple(
            f"({word})" if place in self.masked_words and MASK not in word else word
            for place, word in enumerate(self.words)
        )
        masked = f"{len(self.masked_words)} of {count}"
        chosen = f"{masked}, drawn with seed {asked.seed}" if self.share else f"{masked}, as written"
        drawn = f"torch.randn with seed {asked.seed}" if asked.source == "random" else "as printed in the post"
        shown = self.features
        if asked.model is not None:
            shown = shown[:, :_SHOWN]
            drawn = in_one_line(f"learned by {asked.name}; the first {shown.shape[1]} numbers")
        if begin == 1:
            yield from wrapped(f"1. words, split at spaces: {count}", width, rest=3)
            yield from flowing(" ".join(map(in_one_line, self.words)), width)
            yield from ("", *wrapped(f"2. words replaced by {MASK}: {chosen}", width, rest=3))
            yield from flowing(" ".join(map(in_one_line, self.seen)), width)
            yield ""
            yield from wrapped(
                f"3. features {list(self.features.shape)}: one vector for each word, {drawn}", width, rest=3
            )
            yield from table(labels, (), shown, width)
        for number, (title, tensor) in enumerate(
            (
                (f"empty {shape}: a matrix of zeros", matrix.empty),
                (f"pairs {shape}: row i is features · features[i]", matrix.pairs),
                (f"masked {shape}: −∞ where row i must not see column j", matrix.masked),
                (f"weights {shape}: softmax of each row", matrix.weights),
                (f"result {shape}: row by row laid into the empty matrix", matrix.result),
            ),
            start=4,
        ):
            if number < begin:
                continue
            if number > begin:
                yield ""
            yield from wrapped(f"{number}. {title}", width, rest=3)
            if number == 6:
                yield from flowing(f"reading {matrix.reading}: {_READINGS[matrix.reading]}; mask: {matrix.mask}", width)
            yield from table(labels, labels, tensor, width)
        for place in matrix.without_keys:
            outcome = "it sees itself" if matrix.rule == "itself" else "its row is zero"
            yield from flowing(f"word {place}, {label(labels[place], LONGEST_WORD)}, may see no word: {outcome}", width)


def _shown(text: str, reading: Reading, asked: _Asked) -> _Shown:
    import torch  # not at the top: --help must not import torch

    from glassformer.parts.activity import activity_matrix

    words = tuple(text.split())
    if not 1 <= len(words) <= _MOST_WORDS:
        do = "give a shorter text" if words else "write one in quotes"
        raise DataError(f"a text must have 1 to {_MOST_WORDS} words", got=str(len(words)), do=do)
    share = (0.0 if MASK in text or len(words) == 1 else _SHARE) if asked.hide is None else asked.hide
    random = torch.Generator().manual_seed(asked.seed)
    order = torch.randperm(len(words), generator=random).tolist()
    count = max(1, round(share * len(words))) if share else 0
    masked_words = tuple(sorted({*order[:count], *(place for place, word in enumerate(words) if MASK in word)}))
    if asked.model is not None:
        from glassformer.features.embed import word_vectors

        features = word_vectors(asked.model, words, masked_words)
    elif asked.source == "random":
        features = torch.randn((len(words), asked.width or 2), generator=random)
    else:
        features = torch.tensor(quick_brown_fox().features)
        if asked.width is not None:
            raise ConfigError(
                "the printed vectors have their own width", got=f"--width {asked.width}", do="leave it out"
            )
        if len(features) != len(words):
            raise DataError(
                f"--word-vectors printed has vectors for {len(features)} words", got=f"a text of {len(words)}",
                do="leave it out, or give as many words",
            )  # fmt: skip
    found = activity_matrix(features, masked_words, reading=reading, **asked.masks)
    if len(found.without_keys) == len(words):
        raise DataError(
            "a mask must leave some word to see",
            got=f"{found.mask}, which hides all",
            do="hide fewer words, or have fewer --padding-words" if found.padding else "hide fewer words",
        )
    return _Shown(words, masked_words, share, asked, features, found)
