"""A second statement of beam search, one hypothesis at a time and without a cache, to which the loop is compared."""

from math import inf, log

import torch

from glassformer.decode.request import Request
from glassformer.decode.settings import DecodeSettings
from glassformer.look.trace.watch import watch
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from tests.decode.sentences import IDS, log_probabilities

Answers = list[tuple[float, tuple[int, ...]]]


def penalty(tokens: int, settings: DecodeSettings) -> float:
    power = settings.length_penalty
    return tokens**power if settings.length_penalty_form == "power" else ((5 + tokens) / 6) ** power


def coverage(model: Transformer, request: Request, tokens: tuple[int, ...], settings: DecodeSettings) -> float:
    """β Σ log(min(Σ weights, 1)) over the source, of the last block's mean head (Wu et al. 2016, eq. 14)."""
    if not settings.coverage_penalty:
        return 0.0
    last = len(model.output_stack.blocks) - 1
    name = f"decoder.blocks.{last}.cross_attention.weights"
    side = Inputs(ids=torch.tensor([[IDS.begin, *tokens[:-1]]]))
    with torch.inference_mode(), watch(model, name) as seen:
        model(Inputs(ids=torch.tensor([list(request.source or ())])), side)
    summed = seen[name][0].mean(dim=0).sum(dim=0).tolist()
    return settings.coverage_penalty * sum(log(min(each, 1.0)) for each in summed)


def searched(model: Transformer, request: Request, settings: DecodeSettings) -> Answers:
    """The best complete answers with their scores, by a search that goes on to the largest length."""
    beams = settings.beams // settings.groups
    groups: list[Answers] = [[(0.0, ())] for _ in range(settings.groups)]
    complete: Answers = []
    for size in range(1, settings.max_tokens + 1):
        taken: dict[int, int] = {}
        for group, hypotheses in enumerate(groups):
            ranked = []
            for score, tokens in hypotheses:
                following = log_probabilities(model, request, tokens)[-1].tolist()
                for token, logarithm in enumerate(following):
                    lowered = score + logarithm - settings.diversity * taken.get(token, 0)
                    ranked.append((lowered, score + logarithm, (*tokens, token)))
            ranked.sort(key=lambda each: -each[0])
            over = [tokens[-1] in IDS.end or size == settings.max_tokens for _, _, tokens in ranked]
            complete += [(s, t) for (_, s, t), done in zip(ranked[:beams], over[:beams], strict=True) if done]
            groups[group] = [(s, t) for (_, s, t), done in zip(ranked, over, strict=True) if not done][:beams]
            for _, _, tokens in [each for each in ranked if each[2][-1] not in IDS.end][:beams]:
                taken[tokens[-1]] = taken.get(tokens[-1], 0) + 1
    scored = [
        (score / penalty(len(tokens), settings) + coverage(model, request, tokens, settings), tokens)
        for tokens, score in {tokens: score for score, tokens in complete}.items()
        if score > -inf
    ]
    return sorted(scored, reverse=True)[: settings.n_best]
