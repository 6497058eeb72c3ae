"""Run a model once and keep what a trace needs.

B sentences · S tokens · N positions where the vocabulary is scored
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from glassformer.base.errors import ConfigError, UnknownNameError
from glassformer.look.formulas.named import axis_names, split_name
from glassformer.look.formulas.stacks import state
from glassformer.look.trace.asked import chosen
from glassformer.look.trace.cell import Words
from glassformer.look.trace.facts import Places, check_sides, choose_scored_at, facts
from glassformer.look.trace.honesty import Honesty, measure
from glassformer.look.trace.interventions import Intervention, TensorFacts, as_change, changed_inputs, touched
from glassformer.look.trace.replay import Replay, eval_copy
from glassformer.look.trace.steps import Reader, listed
from glassformer.look.trace.tensors import heads_of, weight_versions
from glassformer.look.trace.trace import Trace
from glassformer.look.trace.verify import LIMITS
from glassformer.models.inputs import Inputs
from glassformer.models.names import HasModule, eager, parameter_names
from glassformer.models.transformer import Transformer

Guess = Callable[[Tensor | None], Mapping[tuple[int, int], str]]
"""What masked words are called by the logits [N, V] at the chosen places, by sentence and token."""

KEPT = ("*.query", "*.key")
SMALL = 1 << 20  # numbers; a run with fewer is stored whole, which costs less than computing anything twice


def trace(
    model: nn.Module | HasModule,
    inputs: Inputs,
    decoder_inputs: Inputs | None = None,
    *,
    scored_at: Places = None,
    labels: Tensor | None = None,
    words: Words | None = None,
    keep: Iterable[str] | str | None = None,
    dtype: torch.dtype | None = None,
    predicts_in: torch.dtype | None = None,
    interventions: Sequence[Intervention] = (),
    gradients: str | None = None,
    candidates: bool = False,
) -> Trace:
    """Run `model` on one batch in eval mode and make every tensor available.

    `scored_at` [N] are flat indices into B·S at which the vocabulary is scored; without them: where there are labels,
    else the masked tokens, else everywhere. S counts the tokens of `decoder_inputs` where there are two stacks.
    `labels` [N] or [B, S] (−100 = none) are the right tokens and give `loss`. `keep` names what is stored besides the
    tensors that enter each block (patterns allowed; `()` for no more); by default queries, keys and what is small, and
    everything of a small run. `dtype` is float32 or float64 (default: the model's own, float32 for lower ones);
    `predicts_in` is what the honesty gate compares with (default: the model's). `interventions` are changes made by
    hand. `gradients` is `loss` or one cell, `head.logits[place=0,vocabulary=7]`: then the gradients with respect to all
    that is stored, and to the weights that are not frozen, are kept too. With `candidates` each sentence of the batch
    is the same text with another candidate, and `choice.probabilities` is the softmax of their scores.
    Raises UnknownNameError, ShapeError, ConfigError, and DeviceError for weights spread over processes.
    """
    options = Options(scored_at, labels, words or Words(), keep, dtype, predicts_in, gradients, candidates)
    return run_of(transformer(model), inputs, decoder_inputs, options).trace(listed(interventions))


@dataclass(frozen=True)
class Options:
    """Options of `trace` besides texts. `guess`: name masked words in the first run; `copy`: a ready `eval_copy`."""

    scored_at: Places = None
    labels: Tensor | None = None
    words: Words = field(default_factory=Words)
    keep: Iterable[str] | str | None = None
    dtype: torch.dtype | None = None
    predicts_in: torch.dtype | None = None
    gradients: str | None = None
    candidates: bool = False
    guess: Guess | None = None
    copy: Transformer | None = None


def run_of(original: Transformer, inputs: Inputs, decoder_inputs: Inputs | None, options: Options) -> Run:
    if not isinstance(inputs, Inputs):
        raise ConfigError(
            "a trace needs the inputs of a model",
            got=type(inputs).__name__,
            do="gf.Inputs(ids=ids) holds them, model.trace(text) makes them",
        )
    check_sides(original, inputs, decoder_inputs, candidates=options.candidates)
    dtype = options.dtype or (original.dtype if original.dtype in LIMITS else torch.float32)
    if dtype not in LIMITS:
        raise ConfigError("a trace runs in torch.float32 or torch.float64", got=repr(options.dtype)[:60])
    if inputs.vectors is not None:
        inputs = replace(inputs, vectors=inputs.vectors.to(dtype))
    places, labels = choose_scored_at(original, inputs, decoder_inputs, options.scored_at, options.labels)
    copy = options.copy
    if copy is None or copy.dtype != dtype:
        copy = eval_copy(original, dtype)
    return Run(original, copy, inputs, decoder_inputs, places, labels, options)


def transformer(model: nn.Module | HasModule) -> Transformer:
    """The uncompiled model; raises ConfigError for what is none of ours."""
    original = eager(model)
    if not isinstance(original, Transformer):
        raise ConfigError("a trace needs a glassformer Transformer", got=type(original).__name__)
    return original


@dataclass(frozen=True)
class Run:
    """What a trace was made from, so that it can be made again with other interventions."""

    original: Transformer
    model: Transformer
    inputs: Inputs
    decoder_inputs: Inputs | None
    scored_at: Tensor | None
    labels: Tensor | None
    options: Options

    def replay(self, interventions: Sequence[Intervention]) -> tuple[Replay, dict[str, Tensor]]:
        """The run with these interventions, and the facts of its inputs."""
        config = self.model.config
        sides = {"inputs": (self.inputs, config.encoder or config.output_stack)}
        if self.decoder_inputs is not None and config.encoder is not None and config.decoder is not None:
            sides["decoder_inputs"] = (self.decoder_inputs, config.decoder)
        changed = changed_inputs(sides, interventions)
        inputs, decoder_inputs = changed["inputs"], changed.get("decoder_inputs", self.decoder_inputs)
        known = facts(config, inputs, decoder_inputs)
        if self.labels is not None:
            known["labels"] = self.labels
        if self.options.candidates:
            known["candidates"] = torch.ones(inputs.shape[0], dtype=torch.bool, device=inputs.device)
        statement = state(config, known, at_places=self.scored_at is not None)
        shapes = {"inputs": inputs.shape, "decoder_inputs": (decoder_inputs or inputs).shape}

        def facts_of(name: str, tensor: Tensor) -> TensorFacts:
            """A mask is shared by heads, and by sentences and queries that have the same."""
            formula = statement.formulas[name]
            axes, shape = axis_names(formula.axes), tuple(tensor.shape)
            real, real_keys = (known.get(f"{side}.real") for side in (formula.tokens, formula.keys))
            if name.endswith(".may_look"):
                batch, queries = shapes[formula.tokens]
                shape = (batch, heads_of(config, name), queries, shapes[formula.keys][1])
            return TensorFacts(axes, shape, real, real_keys)

        change = as_change(interventions, tuple(statement.formulas), facts_of)
        by_hand = tuple(name for name in statement.formulas if touched(interventions, name))
        return Replay(self.model, statement, inputs, decoder_inputs, self.scored_at, change, by_hand), known

    def trace(self, interventions: tuple[Intervention, ...]) -> Trace:
        interventions, words = self.resolved(interventions)
        replay, known = self.replay(interventions)
        statement = replay.statement
        names = statement.of_model
        kept = dict.fromkeys(filter(None, [*statement.entering.values(), statement.memory]))
        if self.options.keep is None:
            small = size_of_all(replay) <= SMALL
            kept |= dict.fromkeys(names if small else self.worth_keeping(replay))
        else:
            kept |= dict.fromkeys(chosen(self.options.keep, names) if self.options.keep else [])
        if self.labels is not None:
            kept["head.log_probabilities"] = None
        if self.options.candidates:
            kept["sentence_head.logits"] = None
        seen = self.forward(replay, list(kept))
        stored = {name: seen[name] for name in statement.formulas if name in kept and name in seen}
        if self.labels is not None:
            stored["loss"] = F.nll_loss(seen["head.log_probabilities"], self.labels)
        if self.options.candidates:
            scores = seen["sentence_head.logits"]  # [B, 1]
            stored["choice.log_probabilities"] = F.log_softmax(scores, dim=0)
            stored["choice.probabilities"] = F.softmax(scores, dim=0)
        run = self
        if self.options.guess is not None and not interventions:
            words = replace(words, answers=self.options.guess(stored.get("head.logits")))
            run = replace(self, options=replace(self.options, words=words, guess=None))
        found = Trace(
            statement=statement, stored={name: tensor.detach() for name, tensor in stored.items()}, facts=known,
            scored_at=self.scored_at, words=words, config=self.model.config, interventions=interventions,
        )  # fmt: skip
        found = run.connected(found, replay)
        return replace(found, gradients=self.differentiate(found, stored)) if self.options.gradients else found

    def resolved(self, steps: tuple[Intervention, ...]) -> tuple[tuple[Intervention, ...], Words]:
        """The interventions with indices in the place of words, and the words of the changed run."""
        if not steps:
            return steps, self.options.words
        statement = self.replay(())[0].statement
        side = self.inputs if self.decoder_inputs is None else self.decoder_inputs
        scored = [] if self.scored_at is None else self.scored_at.tolist()
        places = tuple(divmod(place, side.shape[1]) for place in scored)
        reader = Reader(self.options.words, statement.formulas, places)
        return tuple(reader.read(step) for step in steps), reader.words

    def connected(self, found: Trace, replay: Replay) -> Trace:
        """The trace with what computes its tensors again, makes this run again and measures its honesty."""
        return replace(
            found, replay=replay, original=self.original, run_again=self.trace, measure_honesty=self.honesty,
            versions=weight_versions(self.model),
        )  # fmt: skip

    def honesty(self) -> Honesty:
        return measure(self.replay(())[0], self.original, self.options.predicts_in or self.original.dtype)

    def forward(self, replay: Replay, names: Sequence[str]) -> Mapping[str, Tensor]:
        """One forward, with a graph only where gradients are asked for."""
        if self.options.gradients is None:
            with torch.no_grad():
                return replay.whole(names)[0]
        return replay.with_graph(names)

    def differentiate(self, found: Trace, stored: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The gradient of the loss, or of one cell, with respect to each stored tensor and each trained weight."""
        assert self.options.gradients is not None
        name, cell = split_name(self.options.gradients)
        if name == "loss" and self.labels is None:
            raise ConfigError("gradients of the loss need labels", got="none", do="give labels, or one cell")
        name = found.full_name(name)
        if name not in stored:
            raise UnknownNameError(f"gradients of {name} need it stored", do="give keep='*'")
        with torch.enable_grad():
            goal = stored[name][tuple(found.cell(name, cell).values())]
        if not goal.requires_grad:
            raise ConfigError("gradients are those of a number that is computed", got=name)
        floats = {name: tensor for name, tensor in stored.items() if tensor.requires_grad}
        floats |= {name: weight for name, weight in parameter_names(self.model).items() if weight.requires_grad}
        slopes = torch.autograd.grad(goal, list(floats.values()), allow_unused=True)
        return {
            name: torch.zeros_like(tensor) if slope is None else slope
            for (name, tensor), slope in zip(floats.items(), slopes, strict=True)
        }

    def worth_keeping(self, replay: Replay) -> list[str]:
        names = replay.statement.of_model
        kept = chosen(KEPT, names)
        rows = replay.inputs.shape[0] * replay.inputs.shape[1] if self.scored_at is None else len(self.scored_at)
        if rows * self.model.config.output_stack.embed.vocabulary <= SMALL:
            kept += [name for name in names if name.startswith("head.")]
        return kept + [name for name in names if name.startswith(("sentence_head.", "token_head."))]


def size_of_all(replay: Replay) -> int:
    """About how many numbers all tensors of this run hold."""
    config = replay.model.config
    rows = replay.inputs.shape[0] * replay.inputs.shape[1] if replay.scored_at is None else len(replay.scored_at)
    total = 3 * rows * config.output_stack.embed.vocabulary
    for stack, inputs in ((config.encoder, replay.inputs), (config.decoder, replay.decoder_inputs or replay.inputs)):
        if stack is not None:
            batch, tokens = inputs.shape
            for block in stack.blocks:
                inner = 0 if block.feed_forward is None else block.feed_forward.body.width
                total += batch * tokens * (12 * stack.width + 3 * inner)
                total += batch * block.self_attention.body.heads * tokens * tokens * 6
    return total
