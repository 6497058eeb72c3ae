"""The logit lens (nostalgebraist 2020, *interpreting GPT: the logit lens*): what the model would answer if it stopped
after a block. The stack's last norm and the vocabulary head, which read the last state, are given the one before.

N places · V vocabulary · L states, one more than blocks · K guesses
"""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from glassformer.base.errors import ConfigError
from glassformer.base.plain import counted
from glassformer.look.trace.tensors import check_trace, states_of
from glassformer.look.trace.trace import Trace
from glassformer.look.trace.verify import WITHOUT_WEIGHTS


@dataclass(frozen=True)
class Lens:
    """What the head would answer from each state; float64 where it is no index. `states` names the tensors that were
    read, the embedding first; what the last of them gives is the model's own answer. `places` are (sentence, token) of
    the token whose state is read. `tokens` [L, N, K] are the likeliest ids, `probabilities` [L, N, K] theirs. `answer`
    [N] is the id that the model itself finds likeliest, `answer_probability` [L, N] its probability in each state, and
    `rank` [L, N] how many tokens are likelier there, plus 1. `entropy` [L, N] is that of all probabilities, in nats.
    """

    states: tuple[str, ...]
    places: tuple[tuple[int, int], ...]
    tokens: Tensor
    probabilities: Tensor
    answer: Tensor
    answer_probability: Tensor
    rank: Tensor
    entropy: Tensor


def _numbers(places: Sequence[int]) -> list[int]:
    """The places as whole numbers; raises ConfigError for anything else."""
    try:
        return [operator.index(place) for place in places]
    except TypeError:
        raise ConfigError("places are a list of whole numbers", got=repr(places)[:60]) from None


def logit_lens(trace: Trace, *, top: int = 5, places: Sequence[int] | None = None) -> Lens:
    """What the vocabulary head would answer from the embedding and from the state after each block. `places` are flat
    indices into sentence times token (of the decoder's text where there are two stacks); by default the places where
    the run scored the vocabulary, else every token that is no padding. In an encoder-decoder the decoder's states are
    read. A state after a block whose norm comes last (post-norm) is read as it is: such a stack has no norm of its own
    before the head. Raises ConfigError for a run without a vocabulary head, or without weights.
    """
    check_trace(trace)
    if "head.logits" not in trace:
        raise ConfigError("the logit lens needs a vocabulary head", got=f"{trace.config.family} without one")
    if trace.replay is None:
        raise ConfigError("the logit lens runs the model's head again", do=WITHOUT_WEIGHTS)
    trace.refuse_changed_weights()
    states = read_states(trace)
    top = counted(top, "top")
    chosen = chosen_places(trace) if places is None else _numbers(places)
    batch, tokens = trace.facts[f"{side_of(trace)}.positions"].shape
    batch = max(batch, trace.tensor(states[0]).shape[0])
    wrong = [place for place in chosen if not 0 <= place < batch * tokens]
    if wrong or not chosen:
        got = str(wrong[0]) if wrong else "none"
        raise ConfigError(f"places are counted from 0 to {batch * tokens - 1}", got=got)
    found = [probabilities(trace, state, chosen) for state in states]  # each [N, V]
    answer = found[-1].argmax(-1)  # [N]
    likeliest = [each.topk(min(top, each.shape[-1]), -1) for each in found]
    of_answer = torch.stack([each.gather(-1, answer[:, None])[:, 0] for each in found])  # [L, N]
    likelier = [(each > one[:, None]).sum(-1) for each, one in zip(found, of_answer, strict=True)]
    return Lens(
        states=states,
        places=tuple(divmod(place, tokens) for place in chosen),
        tokens=torch.stack([each.indices for each in likeliest]),
        probabilities=torch.stack([each.values for each in likeliest]),
        answer=answer,
        answer_probability=of_answer,
        rank=1 + torch.stack(likelier),
        entropy=torch.stack([torch.special.entr(each).sum(-1) for each in found]),
    )


def read_states(trace: Trace) -> tuple[str, ...]:
    """The states on the way to the vocabulary head: what enters each block, and what the last block gives."""
    side, entering = stack_of(trace), trace.statement.entering
    return (*states_of(trace, side)[:-1], entering.get(f"{side}.norm", entering["states"]))


def stack_of(trace: Trace) -> str:
    """The stack that answers."""
    return "encoder" if trace.config.decoder is None else "decoder"


def side_of(trace: Trace) -> str:
    """Whose tokens the states belong to: `inputs` or `decoder_inputs`."""
    return trace.statement.formulas[read_states(trace)[-1]].tokens


def chosen_places(trace: Trace) -> list[int]:
    """The places where the vocabulary was scored, else every token that is no padding, as flat indices."""
    if trace.scored_at is not None:
        return [int(place) for place in trace.scored_at.tolist()]
    side = side_of(trace)
    real = trace.facts.get(f"{side}.real")
    if real is not None:
        return [int(place) for place in real.flatten().nonzero()[:, 0].tolist()]
    batch, tokens = trace.tensor(read_states(trace)[-1]).shape[:2]
    return list(range(batch * tokens))


def probabilities(trace: Trace, state: str, places: Sequence[int]) -> Tensor:
    """What the head finds probable when a state is read as if it were the last, [N, V] in float64."""
    replay = trace.replay
    assert replay is not None
    read, norm = trace.tensor(state), f"{stack_of(trace)}.norm"
    if norm in trace.statement.entering:
        state = trace.statement.entering[norm]
        read = replay.unit(norm, [norm], lambda other: read if other == state else trace.stored[other])[norm]
    # A change by hand fits the places of the run and no others.
    by_hand = any(trace.by_hand(name) for name in trace.statement.formulas if trace.statement.unit(name) == "head")
    at = torch.tensor(places, device=read.device)
    head = replay if by_hand else replace(replay, scored_at=at)
    name = "head.log_probabilities"
    last = trace.statement.entering["head"]
    found = head.unit("head", [name], lambda other: read if other == last else trace.stored[other])[name].detach()
    if by_hand and head.scored_at is not None:
        order = {place: index for index, place in enumerate(head.scored_at.tolist())}
        if unknown := [place for place in places if place not in order]:
            wanted = f"a head that was changed by hand is known at the places {', '.join(map(str, order))}"
            raise ConfigError(wanted, got=str(unknown[0]))
        found = found[[order[place] for place in places]]
    elif by_hand:
        found = found.flatten(0, 1)[at]
    return found.double().exp().cpu()
