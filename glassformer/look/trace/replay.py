"""Run a model, or one unit of it, so that chosen tensors are seen.

A unit is the embedding, one block, a norm, or a head: what can be run again from the one tensor that enters it.

N positions where the vocabulary is scored · W width
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from glassformer.look.formulas.rules.evaluator import Statement
from glassformer.look.trace.watch import Change, Seen, watch
from glassformer.models.inputs import Inputs, Output
from glassformer.models.stack import Stack
from glassformer.models.transformer import Transformer


class EnoughSeen(Exception):  # noqa: N818 - nothing went wrong
    """All that was asked for has been seen: the rest of the unit need not run."""


def eval_copy(model: Transformer, dtype: torch.dtype) -> Transformer:
    """The model in eval mode in another precision; the original stays, weights that have the precision are shared."""
    weights: dict[int, object] = {}
    for parameter in model.parameters():
        turned = nn.Parameter(parameter.detach().to(dtype), requires_grad=parameter.requires_grad)
        weights[id(parameter)] = parameter if parameter.dtype == dtype else turned
    copied: Transformer = copy.deepcopy(model, weights)
    return copied.eval()


def as_type(inputs: Inputs, dtype: torch.dtype) -> Inputs:
    """Vectors in another precision; ids have none."""
    return inputs if inputs.vectors is None else replace(inputs, vectors=inputs.vectors.to(dtype))


@dataclass(frozen=True)
class Replay:
    """What computes any tensor again. `by_hand` names what `change` changes: a fused kernel would pass it by unseen."""

    model: Transformer
    statement: Statement
    inputs: Inputs
    decoder_inputs: Inputs | None
    scored_at: Tensor | None
    change: Change | None = None
    by_hand: tuple[str, ...] = ()

    def whole(self, names: Iterable[str]) -> tuple[Seen, Output]:
        with self.own_precision(), watch(self.model, [*names, *self.by_hand], change=self.change) as seen:
            output = self.model(self.inputs, self.decoder_inputs, scored_at=self.scored_at)
        return seen, output

    def with_graph(self, names: Iterable[str]) -> Seen:
        """As `whole`, with a graph through every tensor that is computed: gradients can be asked for."""

        def leaf(name: str, tensor: Tensor) -> Tensor:
            tensor = tensor if self.change is None else self.change(name, tensor)
            constant = tensor.is_floating_point() and not tensor.requires_grad
            return tensor.detach().requires_grad_() if constant else tensor

        with torch.enable_grad():
            return replace(self, change=leaf).whole(names)[0]

    def unit(self, unit: str, names: Iterable[str], kept: Callable[[str], Tensor]) -> Seen:
        """Run one unit from the tensor that enters it, as far as is needed; `kept` gives the stored tensors."""
        asked = {*names, *(name for name in self.by_hand if self.statement.unit(name) == unit)}

        def until_seen(name: str, tensor: Tensor) -> Tensor:
            if asked <= seen.keys():
                raise EnoughSeen
            return tensor if self.change is None else self.change(name, tensor)

        with (
            torch.no_grad(),
            self.own_precision(),
            suppress(EnoughSeen),
            watch(self.model, asked, change=until_seen) as seen,
        ):
            if unit == "head":
                assert self.model.head is not None
                states, places = kept(self.statement.entering["head"]), self.scored_at
                chosen = states if places is None else states.flatten(0, 1).index_select(0, places)  # [N, W]
                self.model.head(chosen, self.model.word_table)
            elif unit == "sentence_head":
                assert self.model.sentence_head is not None
                states = kept(self.statement.entering["sentence_head"])
                self.model.sentence_head(states, replace(self.answering, dropout_key=None))
            elif unit == "token_head":
                assert self.model.token_head is not None
                labelled = self.answering.real if self.answering.labelled is None else self.answering.labelled
                self.model.token_head(kept(self.statement.entering["token_head"]), None, labelled)
            else:
                self.run_in_stack(unit, kept)
        return seen

    def exact(self) -> Replay:
        """The same run in float64, on the CPU where the device has none."""
        device = torch.device("cpu") if self.inputs.device.type == "mps" else self.inputs.device
        other = self.decoder_inputs
        return replace(
            self,
            model=eval_copy(self.model, torch.float64).to(device),
            inputs=as_type(self.inputs, torch.float64).to(device),
            decoder_inputs=None if other is None else as_type(other, torch.float64).to(device),
            scored_at=None if self.scored_at is None else self.scored_at.to(device),
        )

    @property
    def answering(self) -> Inputs:
        """The side whose tokens the heads read."""
        crossing = self.statement.memory is not None and self.decoder_inputs is not None
        return self.decoder_inputs if crossing and self.decoder_inputs is not None else self.inputs

    def own_precision(self) -> AbstractContextManager[None]:
        """The precision of the weights, whatever autocast is on around."""
        return torch.autocast(self.inputs.device.type, enabled=False)

    def run_in_stack(self, unit: str, kept: Callable[[str], Tensor]) -> None:
        """Embedding, relative bias, one block, or the last norm of an encoder or decoder."""
        side, part, *index = unit.split(".")
        stack = getattr(self.model, side)
        assert isinstance(stack, Stack)
        crossing = side == "decoder" and self.statement.memory is not None
        inputs = self.answering if side == "decoder" else self.inputs
        memory = kept(self.statement.memory) if crossing and self.statement.memory is not None else None
        memory_real, memory_documents = (self.inputs.real, self.inputs.documents) if crossing else (None, None)
        context, positions = stack.context(inputs, None, memory, memory_real, None, memory_documents)
        if part == "embed":
            stack.embed(inputs.ids, inputs.vectors, positions, inputs.segments, inputs.masked_words, None)
        elif part == "norm":
            stack.norm(kept(self.statement.entering[unit]))
        elif part == "blocks":
            stack.blocks[int(index[0])](kept(self.statement.entering[unit]), context)
