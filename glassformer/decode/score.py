"""What a hypothesis is worth, and what an unfinished one can still be worth.

R rows · B hypotheses of a row · M memory tokens
"""

from torch import Tensor

from glassformer.decode.settings import DecodeSettings


def length_penalty(tokens: Tensor, settings: DecodeSettings) -> Tensor:
    """What the score of an answer of so many tokens is divided by (Wu et al. 2016, eq. 14)."""
    tokens = tokens.double()
    if settings.length_penalty_form == "power":
        return tokens**settings.length_penalty
    return ((5 + tokens) / 6) ** settings.length_penalty


def final_score(score: Tensor, tokens: Tensor, settings: DecodeSettings) -> Tensor:
    """The score of complete answers [R, B] of so many tokens [R, 1]."""
    return score / length_penalty(tokens, settings).to(score.dtype)


def coverage_penalty(coverage: Tensor, real: Tensor, settings: DecodeSettings) -> Tensor:
    """What is added to the score of an answer that looked so much at each token of the memory (eq. 14 of the same).
    `coverage` [R, B, M] and which tokens are no padding [R, M] to [R, B]; it is never above 0.
    """
    logarithms = coverage.clamp(max=1.0).log().masked_fill(~real[:, None], 0.0)  # [R, B, M]
    return settings.coverage_penalty * logarithms.sum(dim=-1)  # [R, B]


def upper_bound(score: Tensor, tokens: Tensor, most: Tensor, settings: DecodeSettings) -> Tensor:
    """The best score that unfinished answers [R, B] of so many tokens [R, 1] can reach with at most `most` [R, 1]. Each
    further token adds a logarithm of a probability, which is at most 0, and coverage adds nothing above 0. The penalty
    rises or falls with the length: the best is at the shortest or at the longest answer.
    """
    return final_score(score, tokens + 1, settings).maximum(final_score(score, most.maximum(tokens + 1), settings))
