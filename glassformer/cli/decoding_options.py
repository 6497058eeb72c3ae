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
                help="Beams; 1 is greedy.  [default: as trained, 5]",
            ),
        ],
        None,
    ),
    "length_penalty": (
        Annotated[
            float | None,
            typer.Option(
                "--length-penalty",
                help="α of Wu et al. 2016: above 0, longer answers score higher.  [default: as trained, 0.6]",
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
                help="β of Wu et al. 2016: each source word is to be looked at.  [default: 0]",
            ),
        ],
        None,
    ),
    "n_best": (
        Annotated[
            int | None, typer.Option("--n-best", min=1, help="So many answers, or samples, with scores.  [default: 1]")
        ],
        None,
    ),
    "groups": (
        Annotated[
            int | None,
            typer.Option("--groups", min=1, help="Groups of beams that avoid each other's words.  [default: 1]"),
        ],
        None,
    ),
    "diversity": (
        Annotated[
            float | None,
            typer.Option("--diversity", min=0, help="What a word costs that an earlier group chose.  [default: 0]"),
        ],
        None,
    ),
    "sample": (Annotated[bool, typer.Option("--sample", help="Draw each token by its probability.")], False),
    "temperature": (
        Annotated[
            float | None,
            typer.Option("--temperature", help="Draw, with logits divided by this: below 1 is bolder.  [default: 1]"),
        ],
        None,
    ),
    "top_k": (
        Annotated[int | None, typer.Option("--top-k", min=1, help=f"Draw among the k likeliest.  {_SEARCH}")],
        None,
    ),
    "top_p": (
        Annotated[
            float | None,
            typer.Option("--top-p", help=f"Draw among the likeliest that have this probability together.  {_SEARCH}"),
        ],
        None,
    ),
    "min_p": (
        Annotated[
            float | None,
            typer.Option("--min-p", help=f"Draw among those with this share of the largest probability.  {_SEARCH}"),
        ],
        None,
    ),
    "seed": (Annotated[int | None, typer.Option("--seed", help="Seed of what is drawn.  [default: 0]")], None),
    "repetition_penalty": (
        Annotated[
            float | None,
            typer.Option("--repetition-penalty", help="Above 1: what occurred is less likely.  [default: 1]"),
        ],
        None,
    ),
    "no_repeat_ngram": (
        Annotated[
            int | None,
            typer.Option("--no-repeat-ngram", min=1, help=f"No so many tokens occur twice in a row.  {_SEARCH}"),
        ],
        None,
    ),
    "prefix": (Annotated[str | None, typer.Option("--prefix", help=f"Each answer begins so.  {_SEARCH}")], None),
    "forced": (
        Annotated[
            list[str] | None, typer.Option("--force", help=f"Each answer contains this (repeatable).  {_SEARCH}")
        ],
        None,
    ),
    "forbidden": (
        Annotated[list[str] | None, typer.Option("--forbid", help=f"No answer does (repeatable).  {_SEARCH}")],
        None,
    ),
    "stop": (
        Annotated[
            list[str] | None, typer.Option("--stop", help=f"An answer ends before this (repeatable).  {_SEARCH}")
        ],
        None,
    ),
    "max_tokens": (
        Annotated[
            int | None,
            typer.Option("--max-tokens", min=1, help="The most of a sentence's answer.  [default: by its length]"),
        ],
        None,
    ),
    "min_tokens": (
        Annotated[int | None, typer.Option("--min-tokens", min=0, help="The fewest before its end.  [default: 0]")],
        None,
    ),
    "paragraphs": (
        Annotated[bool, typer.Option("--paragraphs", help="Texts have several sentences: translate one by one.")],
        False,
    ),
    "alignment": (
        Annotated[
            bool | None,
            typer.Option("--alignment/--no-alignment", help="Which words belong together.  [default: with --json]"),
        ],
        None,
    ),
    "stream": (
        Annotated[bool, typer.Option("--stream", help="Show words as soon as they are decided, text after text.")],
        False,
    ),
}

# What is typed for each of them.
TYPED = {name: f"--{name.replace('_', '-')}" for name in DECODING} | {"forced": "--force", "forbidden": "--forbid"}


def check_decoding(options: Mapping[str, Any]) -> None:
    """Raise ConfigError for options that exclude each other, by what was typed, before a model is read."""
    from glassformer.decode.options import search_settings  # not at the top: --help must not import it

    search_settings(options, called=TYPED)
