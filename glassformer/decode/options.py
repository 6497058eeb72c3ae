"""What people ask of a model that writes, each word once: the command line, Python and the predictors read it here.

Imports neither pydantic nor torch, so that --help does not wait for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, NamedTuple

from glassformer.base.errors import ConfigError
from glassformer.base.plain import counted

if TYPE_CHECKING:
    from glassformer.decode.settings import DecodeSettings


class Option(NamedTuple):
    """How an option is explained and typed. `texts` is the help where texts are continued and `replies` that where the
    model replies, if its default is another one. `least` is the smallest number, `flags` what is typed if it is not the
    name; `of` is what the only verb writes that has the option: "translation", "reply", or "" for all.
    """

    help: str
    texts: str = ""
    replies: str = ""
    least: int | None = None
    flags: tuple[str, ...] = ()
    of: str = ""


def _option(help: str, texts: str = "", replies: str = "", *, default: object = None, **more: Any) -> Any:
    return field(default=default, metadata={"option": Option(help, texts, replies or texts, **more)})


_BEAMS = "Number of beams; 1 is greedy search."
_DRAW = "Sampling temperature: below 1 sharpens the probabilities, above 1 flattens them; 0 is greedy or beam search."
_LONG = "Beam search: higher values favour longer texts (α of Wu et al. 2016)."
_SAMPLE = "Sample tokens instead of using greedy or beam search."
_SWITCHES = "These options switch it on: --temperature, --top-k, --top-p, --min-p"
_MOST = "Maximum number of tokens in an output."
_TOGETHER = "Sample from the most likely tokens whose probabilities sum to this (nucleus sampling)."


@dataclass(frozen=True, kw_only=True)
class WritingOptions:
    """Options of a verb that writes; None, or empty, keeps the model's own way of writing. Those that `DecodeSettings`
    has too are explained there in full; `search` has all of them at once. Their values are checked when the search is
    chosen (`decode/asked.py`), all others here: raises ConfigError.
    """

    beams: int | None = _option(
        f"{_BEAMS}  [default: as trained, else 5]",
        f"{_BEAMS}  [default: none, as tokens are sampled]",
        f"{_BEAMS}  [default: 1; none if tokens are sampled]",
        least=1,
    )
    length_penalty: float | None = _option(f"{_LONG}  [default: as trained, else 0.6]", f"{_LONG}  [default: 0.6]")
    coverage_penalty: float | None = _option(
        "Beam search: higher values penalize translations that skip words (β of Wu et al. 2016).  [default: 0]",
        least=0,
        of="translation",
    )
    n_best: int | None = _option("Number of outputs per text, shown with their scores.  [default: 1]", least=1)
    groups: int | None = _option(
        "Beam search: number of groups of beams. With --diversity, a group avoids the tokens of earlier groups.  "
        "[default: 1]",
        least=1,
        of="translation",
    )
    diversity: float | None = _option(
        "Penalty for a token that an earlier group of beams chose.  [default: 0]", least=0, of="translation"
    )
    sample: bool | None = _option(
        f"{_SAMPLE}  {_SWITCHES}.  [default: off]",
        f"{_SAMPLE}  [default: on; off with --beams, --length-penalty or --force, and if the model has its own search "
        "settings]",
        f"{_SAMPLE}  {_SWITCHES}, --seed.  [default: off]",
        flags=("--sample",),
    )
    temperature: float | None = _option(f"{_DRAW}  [default: 1]", f"{_DRAW}  [default: 0.8]")
    top_k: int | None = _option("Number of most likely tokens to sample from.  [default: none]", least=1)
    top_p: float | None = _option(f"{_TOGETHER}  [default: none]", f"{_TOGETHER}  [default: 0.9]")
    min_p: float | None = _option(
        "Sample from tokens with at least this fraction of the largest probability.  [default: none]"
    )
    seed: int | None = _option("Random seed.  [default: 0]")
    repetition_penalty: float | None = _option(
        "Values above 1 make tokens that are already in the output less likely.  [default: 1]"
    )
    no_repeat_ngram: int | None = _option("Never repeat a sequence of this number of tokens.  [default: none]", least=1)
    prefix: str | None = _option("Text with which each translation begins.  [default: none]", of="translation")
    forced: Sequence[str] = _option(
        "Text that each output must contain (repeatable).  [default: none]", default=(), flags=("--force",)
    )
    forbidden: Sequence[str] = _option(
        "Text that no output may contain (repeatable).  [default: none]", default=(), flags=("--forbid",)
    )
    stop: Sequence[str] = _option("End each output before this text (repeatable).  [default: none]", default=())
    max_tokens: int | None = _option(
        f"{_MOST}  [default: depends on the length of the text]",
        f"{_MOST}  [default: 256, or the context length if shorter]",
        least=1,
    )
    min_tokens: int | None = _option("Minimum number of tokens in an output.  [default: 0]", least=0)
    paragraphs: bool = _option(
        "Split each text into sentences and translate them one by one. A text that is too long for the model is always "
        "split.",
        default=False,
        of="translation",
    )
    alignment: bool | None = _option(
        "Show the word alignment.  [default: on with --json, else off]",
        flags=("--alignment/--no-alignment",),
        of="translation",
    )
    system: str | None = _option("System message (decoders only).  [default: none]", of="reply")
    template: str | None = _option(
        "Name of the chat template, if a decoder has several.  [default: the template named 'default']", of="reply"
    )
    history: int | None = _option(
        "Maximum number of turns to read.  [default: as trained, else all that fit]", least=1, of="reply"
    )
    search: DecodeSettings | None = None

    def __post_init__(self) -> None:
        for name in ("forced", "forbidden", "stop"):
            words = getattr(self, name)
            words = () if words is None else (words,) if isinstance(words, str) else words
            words = tuple(words) if isinstance(words, Iterable) else words
            object.__setattr__(self, name, words)
        for name in ("prefix", "system", "template"):
            if not isinstance(getattr(self, name), str | None):
                raise ConfigError(f"the {name} must be a text", got=repr(getattr(self, name))[:60])
        for name in ("sample", "paragraphs", "alignment"):
            if not isinstance(getattr(self, name), bool | None):
                raise ConfigError(f"{name} must be true or false", got=repr(getattr(self, name))[:60])
        if self.history is not None:
            object.__setattr__(self, "history", counted(self.history, "history, in turns,"))


OPTIONS: dict[str, Option] = {
    each.name: each.metadata["option"] for each in fields(WritingOptions) if "option" in each.metadata
}
"""How each is explained and typed, by name. `search` is for Python alone."""
