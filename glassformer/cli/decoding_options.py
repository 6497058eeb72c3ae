"""The options of the verbs that write text: how its tokens are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

_SEARCH = "[default: none]"

# By the names of `DecodeSettings`, and what `tasks/translator.py` reads beside these.
DECODING: dict[str, tuple[Any, object]] = {
    "beams": (
        Annotated[
            int | None,
            typer.Option(
                "--beams",
                "--beam",
                min=1,
                help="Beginnings searched together; 1 takes the likeliest token each time.  [default: as trained, 5]",
            ),
        ],
        None,
    ),
    "length_penalty": (
        Annotated[
            float | None,
            typer.Option(
                "--length-penalty",
                help="The higher, the better long translations score (α of Wu et al. 2016).  "
                "[default: as trained, 0.6]",
            ),
        ],
        None,
    ),
    "coverage_penalty": (
        Annotated[
            float | None,
            typer.Option(
                "--coverage-penalty",
                min=0,
                help="The higher, the worse translations score that skip words (β of Wu et al. 2016).  [default: 0]",
            ),
        ],
        None,
    ),
    "n_best": (
        Annotated[
            int | None,
            typer.Option("--n-best", min=1, help="Write so many translations of each text, with scores.  [default: 1]"),
        ],
        None,
    ),
    "groups": (
        Annotated[
            int | None,
            typer.Option(
                "--groups",
                min=1,
                help="Divide the beams into so many groups that avoid each other's tokens.  [default: 1]",
            ),
        ],
        None,
    ),
    "diversity": (
        Annotated[
            float | None,
            typer.Option(
                "--diversity", min=0, help="What the score of a token loses that an earlier group chose.  [default: 0]"
            ),
        ],
        None,
    ),
    "sample": (
        Annotated[bool, typer.Option("--sample", help="Draw each token by its probability instead of searching.")],
        False,
    ),
    "temperature": (
        Annotated[
            float | None,
            typer.Option(
                "--temperature",
                help="Draw, below 1 with likely tokens more often, above 1 with unlikely ones.  [default: 1]",
            ),
        ],
        None,
    ),
    "top_k": (
        Annotated[
            int | None, typer.Option("--top-k", min=1, help=f"Draw among so many of the likeliest tokens.  {_SEARCH}")
        ],
        None,
    ),
    "top_p": (
        Annotated[
            float | None,
            typer.Option(
                "--top-p", help=f"Draw among the likeliest tokens that together have this probability.  {_SEARCH}"
            ),
        ],
        None,
    ),
    "min_p": (
        Annotated[
            float | None,
            typer.Option(
                "--min-p", help=f"Draw among tokens with at least this share of the largest probability.  {_SEARCH}"
            ),
        ],
        None,
    ),
    "seed": (Annotated[int | None, typer.Option("--seed", help="Seed of what is drawn.  [default: 0]")], None),
    "repetition_penalty": (
        Annotated[
            float | None,
            typer.Option(
                "--repetition-penalty",
                help="Above 1, tokens that were written before become less likely.  [default: 1]",
            ),
        ],
        None,
    ),
    "no_repeat_ngram": (
        Annotated[
            int | None,
            typer.Option("--no-repeat-ngram", min=1, help=f"Write no sequence of so many tokens twice.  {_SEARCH}"),
        ],
        None,
    ),
    "prefix": (
        Annotated[str | None, typer.Option("--prefix", help=f"Begin each translation with this.  {_SEARCH}")],
        None,
    ),
    "forced": (
        Annotated[
            list[str] | None,
            typer.Option("--force", help=f"Write this somewhere in each translation (repeatable).  {_SEARCH}"),
        ],
        None,
    ),
    "forbidden": (
        Annotated[list[str] | None, typer.Option("--forbid", help=f"Write this nowhere (repeatable).  {_SEARCH}")],
        None,
    ),
    "stop": (
        Annotated[
            list[str] | None, typer.Option("--stop", help=f"End each translation before this (repeatable).  {_SEARCH}")
        ],
        None,
    ),
    "max_tokens": (
        Annotated[
            int | None,
            typer.Option(
                "--max-tokens", min=1, help="The most tokens of a sentence's translation.  [default: by its length]"
            ),
        ],
        None,
    ),
    "min_tokens": (
        Annotated[
            int | None,
            typer.Option("--min-tokens", min=0, help="The fewest tokens of a sentence's translation.  [default: 0]"),
        ],
        None,
    ),
    "paragraphs": (
        Annotated[bool, typer.Option("--paragraphs", help="Translate the sentences of each text one by one.")],
        False,
    ),
    "alignment": (
        Annotated[
            bool | None,
            typer.Option(
                "--alignment/--no-alignment", help="Show which words belong to which.  [default: with --json]"
            ),
        ],
        None,
    ),
    "stream": (
        Annotated[bool, typer.Option("--stream", help="Show words as soon as they are decided, text after text.")],
        False,
    ),
    "tree": (
        Annotated[
            bool,
            typer.Option("--tree", help="Show the search as a tree: what went on at each step, what did not, and why."),
        ],
        False,
    ),
}


# What is typed for each of them.
TYPED = {name: f"--{name.replace('_', '-')}" for name in DECODING} | {"forced": "--force", "forbidden": "--forbid"}


def check_decoding(options: Mapping[str, Any]) -> None:
    """Raise ConfigError for options that exclude each other, by what was typed, before a model is read."""
    from glassformer.decode.options import search_settings  # not at the top: --help must not import it

    search_settings(options, called=TYPED)
