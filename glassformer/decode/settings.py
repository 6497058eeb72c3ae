"""How the tokens of an answer are chosen, and how a model is searched where nobody asks for anything else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationInfo, model_validator

from glassformer.base.errors import ConfigError
from glassformer.base.settings import CALLED, MOST_TOKENS, PublicSettings, Seed

# Beyond these limits the scores of answers of MOST_TOKENS are no float32 numbers any more.
LengthPenalty = Annotated[float, Field(ge=-5, le=5)]
# Words in a tuple or a list.
Words = Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(strict=False)]


class DecodeSettings(PublicSettings):
    """How the tokens of an answer are chosen, and when an answer is complete.

    `method`: the most likely token each time; a token drawn by its probability; or the `beams` best hypotheses at once.

    **Sampling.** Logits are divided by `temperature`; then only the `top_k` most likely tokens are kept, of these the
    most likely ones that have a probability of `top_p` together (Holtzman et al. 2020), and those with at least `min_p`
    of the largest probability (Nguyen et al. 2024). `n_best` answers are drawn, each by itself.

    **Beams.** An answer of n tokens, its end among them, scores log-probability / penalty(n) + coverage. The penalty
    is ((5 + n) / 6)^`length_penalty` (Wu et al. 2016, eq. 14), or n^`length_penalty` with the form "power"
    (transformers). `coverage_penalty` is β of the same equation, over the weights of cross-attention. With `groups`,
    beams are divided into groups; each pays `diversity` for each beam of an earlier group that goes on with the same
    token (Vijayakumar et al. 2018). What several groups find is one answer: there may be fewer than
    `n_best`.

    `early_stopping` "exact": the search goes on while an unfinished hypothesis can still become one of the `n_best`,
    and its answers are those of a search to the largest length. "full": it ends at `beams` complete answers.
    "estimate": it ends when the best unfinished hypothesis, scored at its present length, is no better than these.
    (transformers: "never", true, false.)

    **Repetition.** The logits of tokens that occurred are divided by `repetition_penalty` where positive and multiplied
    where not (Keskar et al. 2019, eq. 2), or their log-probabilities are multiplied, with `penalized`
    "log_probabilities" (transformers' beams). No sequence of `no_repeat_ngram` tokens occurs twice. Prompts count.

    **Words.** An answer contains each of `forced`, which needs at least two beams, and none of `forbidden`, not even
    with the end of its prompt; it ends with the first of `stop`. It has at least `min_tokens` before its end and at
    most `max_tokens` with it; with `forced_end` the last of these can only be the end, and costs nothing.
    """

    method: Literal["greedy", "sample", "beam"] = "greedy"
    beams: int = Field(default=1, ge=1, le=1000)
    n_best: int = Field(default=1, ge=1, le=1000)
    temperature: float = Field(default=1.0, ge=0.001, le=1000)
    top_k: int | None = Field(default=None, ge=1)
    top_p: float | None = Field(default=None, gt=0, le=1)
    min_p: float | None = Field(default=None, ge=0, le=1)
    repetition_penalty: float = Field(default=1.0, ge=0.001, le=1000)
    penalized: Literal["logits", "log_probabilities"] = "logits"
    no_repeat_ngram: int | None = Field(default=None, ge=1)
    length_penalty: LengthPenalty = 0.0
    length_penalty_form: Literal["gnmt", "power"] = "gnmt"
    coverage_penalty: float = Field(default=0.0, ge=0, le=1000)
    early_stopping: Literal["exact", "full", "estimate"] = "exact"
    groups: int = Field(default=1, ge=1)
    diversity: float = Field(default=0.0, ge=0, le=1000)
    max_tokens: int = Field(default=256, ge=1, le=MOST_TOKENS)
    min_tokens: int = Field(default=0, ge=0, le=MOST_TOKENS)
    forced_end: bool = False
    forced: Words = ()
    forbidden: Words = ()
    stop: Words = ()
    seed: Seed = 0

    @model_validator(mode="after")
    def _possible(self, info: ValidationInfo) -> Self:
        called = (info.context or {}).get(CALLED, {})
        _refuse_excluding({name: getattr(self, name) for name in self.model_fields_set}, called)
        return self

    @property
    def width(self) -> int:
        """The hypotheses that a sentence has at a time: its beams or its samples."""
        return self.beams if self.method == "beam" else self.n_best


_SAMPLED = ("temperature", "top_k", "top_p", "min_p")
_OF_BEAMS = ("beams", "length_penalty", "coverage_penalty", "groups", "diversity", "forced")
METHODS: dict[str, tuple[str, ...]] = {
    "n_best": ("beam", "sample"),
    **dict.fromkeys(_SAMPLED, ("sample",)),
    **dict.fromkeys(_OF_BEAMS, ("beam",)),
}
"""The methods that each setting is for, where it is not for all."""
_SEARCHES = {"sample": "sampling", "beam": "beam search"}


def _refuse_excluding(values: Mapping[str, Any], called: Mapping[str, str]) -> None:
    """Raise ConfigError for settings that exclude each other, named as they were `called` on the command line."""
    usual = DecodeSettings.model_fields
    # Without a largest number asked for, another one may be found by the source.
    values = {name: value for name, value in values.items() if name == "max_tokens" or value != usual[name].default}

    def named(setting: str) -> str:
        return called.get(setting, setting)

    def said(setting: str, default: object = None) -> str:
        value = values.get(setting, default)
        if not called:
            return f"{setting} = {value!r}"
        return " ".join([named(setting), *map(str, value if isinstance(value, list | tuple) else [value])])

    method = values.get("method", "greedy")
    for setting, fitting in METHODS.items():
        if setting in values and method not in fitting:
            drawn = next((said(each) for each in _SAMPLED if each in values), "--sample")
            raise ConfigError(
                f"{said(setting)} is only for {' or '.join(_SEARCHES[each] for each in fitting)}",
                got=f"{drawn}, which samples each token" if called else said("method", method),
                do="leave one of them out" if called else f"choose method = {fitting[0]!r}, or leave {setting} out",
            )
    beams = values.get("beams", 1)
    if method == "beam" and values.get("n_best", 1) > beams:
        raise ConfigError(
            f"{said('n_best')} needs at least {values['n_best']} beams",
            got=said("beams", 1),
            do=f"raise {named('beams')}, or lower {named('n_best')}",
        )
    if beams % values.get("groups", 1):
        raise ConfigError(
            f"{said('groups')} must divide the beams",
            got=said("beams", 1),
            do=f"choose {named('beams')} a multiple of {named('groups')}",
        )
    if "diversity" in values and "groups" not in values:
        raise ConfigError(
            f"{said('diversity')} needs groups of beams", got="one group", do=f"set {named('groups')} to 2 or more"
        )
    if "forced" in values and beams < 2:
        raise ConfigError(
            f"{said('forced')} needs at least 2 beams, as one alone would begin with these words",
            got=said("beams", 1),
            do=f"raise {named('beams')}",
        )
    if "max_tokens" in values and values.get("min_tokens", 0) > values["max_tokens"]:
        raise ConfigError(
            f"{said('min_tokens')} must be at most {named('max_tokens')}",
            got=said("max_tokens"),
            do="change one of them",
        )
    if "forced" in values and "groups" in values:
        raise ConfigError(f"{said('forced')} needs beams in one group", got=said("groups"), do="leave one of them out")
    stop = values.get("stop", ())
    if cut := [word for word in values.get("forced", ()) if any(each in word or word in each for each in stop)]:
        raise ConfigError(
            f"{named('forced')} and {named('stop')} exclude each other",
            got=f"{cut[0]!r}, which could not be in an answer",
            do="leave one of them out",
        )
    if both := set(values.get("forced", ())) & set(values.get("forbidden", ())):
        raise ConfigError(
            f"{named('forced')} and {named('forbidden')} exclude each other",
            got=f"{min(both)!r} in both",
            do="leave it out of one of them",
        )
    marks = [
        mark for mark in values.get("forbidden", ()) if mark.strip() and not any(letter.isalnum() for letter in mark)
    ]
    if having := [(word, mark) for word in values.get("forced", ()) for mark in marks if mark.strip() in word]:
        raise ConfigError(
            f"{named('forced')} and {named('forbidden')} exclude each other",
            got="{!r}, which contains {!r}".format(*having[0]),
            do="leave one of them out",
        )


# How a decoder alone writes on: drawn, as the likeliest tokens soon repeat themselves (Holtzman et al. 2020).
USUAL = DecodeSettings(method="sample", temperature=0.8, top_p=0.9)


@dataclass(frozen=True)
class SpecialIds:
    """A decoder's first token, the tokens that end an answer, and those that are never written (probability 0)."""

    begin: int
    end: tuple[int, ...]
    never: tuple[int, ...] = ()


@dataclass(frozen=True)
class SearchDefaults:
    """The settings that came with a model. Each answer begins with `prefix` and contains none of `forbidden`, as
    sequences of tokens; `ids` is None where nothing says how an answer begins and ends. `whole`: the most tokens of a
    prompt and its answer together. `aside`, of a decoder alone, are its settings that the decoding loop does not have,
    each with the reason.
    """

    settings: DecodeSettings
    ids: SpecialIds | None = None
    prefix: tuple[int, ...] = ()
    forbidden: tuple[tuple[int, ...], ...] = ()
    whole: int | None = None
    aside: Mapping[str, str] = field(default_factory=dict)
