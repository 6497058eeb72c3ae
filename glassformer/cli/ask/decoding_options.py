"""The options of the verbs that write text: how its tokens are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

_SEARCH = "[default: none]"


def decoding_options(word: str) -> dict[str, tuple[Any, object]]:
    """The options by the names of `DecodeSettings`, each with its default; `word` is what is written."""
    return {
        "beams": (
            Annotated[
                int | None,
                typer.Option(
                    "--beams",
                    "--beam",
                    min=1,
                    help="Beginnings searched together; 1 takes the likeliest token each time.  "
                    "[default: as trained, 5]",
                ),
            ],
            None,
        ),
        "length_penalty": (
            Annotated[
                float | None,
                typer.Option(
                    "--length-penalty",
                    help=f"The higher, the better long {word}s score (α of Wu et al. 2016).  "
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
                    help=f"The higher, the worse {word}s score that skip words (β of Wu et al. 2016).  [default: 0]",
                ),
            ],
            None,
        ),
        "n_best": (
            Annotated[
                int | None,
                typer.Option("--n-best", min=1, help=f"Write so many {word}s of each text, with scores.  [default: 1]"),
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
                    "--diversity",
                    min=0,
                    help="What the score of a token loses that an earlier group chose.  [default: 0]",
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
                int | None,
                typer.Option("--top-k", min=1, help=f"Draw among so many of the likeliest tokens.  {_SEARCH}"),
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
            Annotated[str | None, typer.Option("--prefix", help=f"Begin each {word} with this.  {_SEARCH}")],
            None,
        ),
        "forced": (
            Annotated[
                list[str] | None,
                typer.Option("--force", help=f"Write this somewhere in each {word} (repeatable).  {_SEARCH}"),
            ],
            None,
        ),
        "forbidden": (
            Annotated[list[str] | None, typer.Option("--forbid", help=f"Write this nowhere (repeatable).  {_SEARCH}")],
            None,
        ),
        "stop": (
            Annotated[
                list[str] | None, typer.Option("--stop", help=f"End each {word} before this (repeatable).  {_SEARCH}")
            ],
            None,
        ),
        "max_tokens": (
            Annotated[
                int | None,
                typer.Option("--max-tokens", min=1, help=f"The most tokens of a {word}.  [default: by its length]"),
            ],
            None,
        ),
        "min_tokens": (
            Annotated[
                int | None,
                typer.Option("--min-tokens", min=0, help=f"The fewest tokens of a {word}.  [default: 0]"),
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
                typer.Option(
                    "--tree", help="Show the search as a tree: what went on at each step, what did not, and why."
                ),
            ],
            False,
        ),
    }


# With what the translator reads beside the settings, and with those of generating.
DECODING = decoding_options("translation")
_OF_TRANSLATIONS = ("coverage_penalty", "groups", "diversity", "prefix", "paragraphs", "alignment", "stream")
_N_BEST = "Write so many texts behind each prompt.  [default: 1]"
_WARM = "Draw, below 1 with likely tokens more often, above 1 with unlikely ones.  [default: 0.8]"
_TOGETHER = "Draw among the likeliest tokens that together have this probability.  [default: 0.9]"
_LONG = "With beams: the higher, the better long texts score (α of Wu et al. 2016).  [default: 0.6]"
_MOST = "The most tokens behind a prompt.  [default: 256, and what the model reads at once]"
_STREAM = typer.Option("--stream/--no-stream", help="Show words as soon as they are decided.  [default: on a screen]")
_HTML = (
    "Write a page on which it is written again, token by token: what each looked at, what could have come, and every "
    "number.  [default: none]"
)
_METHOD = "Beginnings searched together; 1 takes the likeliest token each time.  [default: tokens are drawn]"
WRITING = {
    **{name: option for name, option in decoding_options("text").items() if name not in _OF_TRANSLATIONS},
    "beams": (Annotated[int | None, typer.Option("--beams", "--beam", min=1, help=_METHOD)], None),
    "n_best": (Annotated[int | None, typer.Option("--n-best", min=1, help=_N_BEST)], None),
    "temperature": (Annotated[float | None, typer.Option("--temperature", help=_WARM)], None),
    "top_p": (Annotated[float | None, typer.Option("--top-p", help=_TOGETHER)], None),
    "length_penalty": (Annotated[float | None, typer.Option("--length-penalty", help=_LONG)], None),
    "max_tokens": (Annotated[int | None, typer.Option("--max-tokens", min=1, help=_MOST)], None),
    "stream": (Annotated[bool | None, _STREAM], None),
    "html": (Annotated[Path | None, typer.Option("--html", help=_HTML)], None),
}

_HISTORY = "The most turns that are read.  [default: as trained, all that fit]"
_SYSTEM = f"What is said to a decoder before all turns.  {_SEARCH}"
_TEMPLATE = "The chat template of a decoder that has several, by its name.  [default: default]"
_SAVE = f"Keep the conversation in this file after each turn; go on with the one that is there.  {_SEARCH}"
CHATTING = {
    **WRITING,
    "system": (Annotated[str | None, typer.Option("--system", help=_SYSTEM)], None),
    "template": (Annotated[str | None, typer.Option("--template", help=_TEMPLATE)], None),
    "save": (Annotated[Path | None, typer.Option("--save", help=_SAVE)], None),
    "history": (Annotated[int | None, typer.Option("--history", min=1, help=_HISTORY)], None),
}

# What is typed for each of them.
TYPED = {name: f"--{name.replace('_', '-')}" for name in DECODING} | {"forced": "--force", "forbidden": "--forbid"}


def check_decoding(options: Mapping[str, Any], verb: str) -> None:
    """Raise ConfigError for options that exclude each other, by what was typed, before a model is read."""
    from glassformer.decode.options import search_settings  # not at the top: --help must not import it

    search_settings(options, called=TYPED, where=verb)
