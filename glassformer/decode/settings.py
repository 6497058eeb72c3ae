"""How the tokens of an answer are chosen."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from glassformer.settings import Seed, Settings

Words = Annotated[str, Field(min_length=1)]


class DecodeSettings(Settings):
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

    **Words.** An answer contains each of `forced` and none of `forbidden`, not even with the end of its prompt; it ends
    with the first of `stop`. It has at least `min_tokens` before its end and at most `max_tokens` with it; with
    `forced_end` the last of these can only be the end, and costs nothing.
    """

    method: Literal["greedy", "sample", "beam"] = "greedy"
    beams: int = Field(default=1, ge=1, le=1000)
    n_best: int = Field(default=1, ge=1, le=1000)
    temperature: float = Field(default=1.0, gt=0)
    top_k: int | None = Field(default=None, ge=1)
    top_p: float | None = Field(default=None, gt=0, le=1)
    min_p: float | None = Field(default=None, ge=0, le=1)
    repetition_penalty: float = Field(default=1.0, gt=0)
    penalized: Literal["logits", "log_probabilities"] = "logits"
    no_repeat_ngram: int | None = Field(default=None, ge=1)
    length_penalty: float = 0.0
    length_penalty_form: Literal["gnmt", "power"] = "gnmt"
    coverage_penalty: float = Field(default=0.0, ge=0)
    early_stopping: Literal["exact", "full", "estimate"] = "exact"
    groups: int = Field(default=1, ge=1)
    diversity: float = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=256, ge=1)
    min_tokens: int = Field(default=0, ge=0)
    forced_end: bool = False
    forced: tuple[Words, ...] = ()
    forbidden: tuple[Words, ...] = ()
    stop: tuple[Words, ...] = ()
    seed: Seed = 0

    @model_validator(mode="after")
    def _possible(self) -> Self:
        beam, sample = self.method == "beam", self.method == "sample"
        if self.beams > 1 and not beam:
            raise ValueError(f"beams = {self.beams} needs method = 'beam'")
        if self.n_best > 1 and self.method == "greedy":
            raise ValueError(f"n_best = {self.n_best} needs method = 'beam' or 'sample': greedy search has one answer")
        if beam and self.n_best > self.beams:
            raise ValueError(f"n_best = {self.n_best} needs at least as many beams, got {self.beams}")
        for name in ("temperature", "top_k", "top_p", "min_p"):
            if getattr(self, name) != type(self).model_fields[name].default and not sample:
                raise ValueError(f"{name} needs method = 'sample'")
        for name in ("length_penalty", "coverage_penalty", "groups", "diversity", "forced"):
            if getattr(self, name) != type(self).model_fields[name].default and not beam:
                raise ValueError(f"{name} needs method = 'beam'")
        if self.beams % self.groups:
            raise ValueError(f"groups must divide the beams, got {self.groups} for {self.beams} beams")
        if self.diversity and self.groups == 1:
            raise ValueError("diversity is paid between groups: groups must be at least 2")
        if self.min_tokens > self.max_tokens:
            raise ValueError(f"min_tokens must be at most max_tokens = {self.max_tokens}, got {self.min_tokens}")
        both = set(self.forced) & set(self.forbidden)
        if both:
            raise ValueError(f"forced and forbidden exclude each other, got {min(both)!r} in both")
        return self

    @property
    def width(self) -> int:
        """The hypotheses that a sentence has at a time: its beams or its samples."""
        return self.beams if self.method == "beam" else self.n_best
