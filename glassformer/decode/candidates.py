"""Candidates of beams: in groups that avoid one another's tokens, and with words that must occur (dynamic beam
allocation: Post & Vilar 2018).

R rows, one for each sentence · B hypotheses of a row · G groups · V vocabulary · C candidates · T tokens
"""

from collections.abc import Collection, Iterator, Sequence
from math import inf
from typing import NamedTuple

import torch
from torch import Tensor

from glassformer.decode.choose import Candidates, best_candidates
from glassformer.decode.hypotheses import Hypotheses, Sentence
from glassformer.decode.request import ForcedWord
from glassformer.decode.settings import DecodeSettings, SpecialIds

# After a forced word, the number of likeliest tokens that are searched for one that does not lengthen the word.
_LIKELY = 256


def best_in_groups(logits: Tensor, offset: Tensor, count: int, settings: DecodeSettings, ids: SpecialIds) -> Candidates:
    """The best `count` candidates of each group of hypotheses, group after group: logits [R, B, V] and [R, B]. A group
    chooses as if each token were less likely by `diversity` for each beam of an earlier group that goes on with it
    (Vijayakumar et al. 2018, the Hamming distance). Scores do not pay for that.
    """
    groups = settings.groups
    if groups == 1:
        return best_candidates(logits, offset, count)
    beams = settings.beams // groups
    taken = torch.zeros_like(logits[:, 0])  # [R, V]
    found = []
    for group in range(groups):
        # All groups begin with the same one hypothesis.
        of = slice(0, 1) if logits.shape[1] == 1 else slice(group * beams, (group + 1) * beams)
        lowered = logits[:, of] - settings.diversity * taken[:, None]  # [R, B / G, V]
        score, parent, token = best_candidates(lowered, offset[:, of], count)
        score = score + settings.diversity * taken.gather(1, token)
        ends = torch.isin(token, torch.tensor(ids.end, device=token.device))  # [R, C / G]
        going_on = token.gather(1, ends.byte().argsort(dim=1, stable=True)[:, :beams])  # [R, B / G]
        taken = taken.scatter_add(1, going_on, torch.ones_like(going_on, dtype=taken.dtype))
        found.append((score, parent + of.start, token))
    return Candidates(*(torch.cat(each, dim=1) for each in zip(*found, strict=True)))


def repeated(candidates: Candidates, hypotheses: Hypotheses, complete: Tensor) -> Tensor:
    """Which complete candidates [R, C] an earlier group has found in the same step."""
    inside = torch.arange(hypotheses.tokens.shape[2], device=complete.device) < hypotheses.length[:, None]  # [R, T]
    tokens = hypotheses.tokens.masked_fill(~inside[:, None], -1)  # [R, B, T]
    same = (tokens[:, :, None] == tokens[:, None]).all(dim=-1)  # [R, B, B]
    row = torch.arange(len(tokens), device=complete.device)[:, None, None]  # [R, 1, 1]
    alike = same[row, candidates.parent[:, :, None], candidates.parent[:, None]]  # [R, C, C]
    alike = alike & (candidates.token[:, :, None] == candidates.token[:, None]) & complete[:, None]
    return complete & alike.tril(-1).any(dim=-1)  # [R, C]


class Option(NamedTuple):
    """A hypothesis with one more token: score, parent, token, and how many forced tokens it contains."""

    score: float
    parent: int
    token: int
    progress: int


def progress(answer: Sequence[int], forced: Sequence[ForcedWord]) -> int:
    """How many tokens of the forced words an answer contains: those of whole words, and of the one begun at its end."""
    unmet = [word for word in forced if not word.stands_in(answer)]
    begun = max((word.begun(answer)[0] for word in unmet), default=0)
    return whole(forced) - whole(unmet) + begun


def whole(forced: Sequence[ForcedWord]) -> int:
    """How many tokens the forced words have."""
    return sum(len(word.inside) for word in forced)


def next_tokens(answer: Sequence[int], forced: Sequence[ForcedWord]) -> Iterator[int]:
    """The tokens that begin a missing word or go on with one that is begun."""
    for word in forced:
        if not word.stands_in(answer):
            yield word.begun(answer)[1]
            yield word.inside[0]


def options(
    best: Sequence[tuple[float, int, int]],
    answers: Sequence[Sequence[int]],
    forced: Sequence[ForcedWord],
    scores: Tensor,
    except_for: Collection[tuple[int, int]] = (),
) -> list[Option]:
    """The best candidates (score, parent, token), and for each hypothesis its best token and those of missing words;
    without those of `except_for`, (parent, token), and those that make another word of a forced one, unless that is
    missing too. `scores` [B, V] of all tokens of a sentence's hypotheses.
    """
    ended = [[word for word in forced if word.ends(answer)] for answer in answers]
    missing = [{*next_tokens(answer, forced)} if words else set() for answer, words in zip(answers, ended, strict=True)]

    def fits(parent: int, token: int) -> bool:
        return token in missing[parent] or not any(word.longer(token) for word in ended[parent])

    found = {(parent, token): score for score, parent, token in best if score > -inf and fits(parent, token)}
    for parent, answer in enumerate(answers):
        likely = scores[parent].topk(min(_LIKELY if ended[parent] else 1, scores.shape[1])).indices.tolist()
        for token in (*[each for each in likely if fits(parent, each)][:1], *next_tokens(answer, forced)):
            found.setdefault((parent, token), float(scores[parent, token]))
    return [
        Option(score, parent, token, progress([*answers[parent], token], forced))
        for (parent, token), score in found.items()
        if score > -inf and (parent, token) not in except_for
    ]


def shared_out(ordered: Sequence[Option], beams: int) -> list[Option]:
    """So many of the options, given best first: those with the most progress first share evenly, and what one share
    leaves over goes to the next. The most progress has at least one, so that all forced words are met in time.
    """
    banks: dict[int, list[Option]] = {}
    for option in ordered:
        banks.setdefault(option.progress, []).append(option)
    chosen: list[Option] = []
    waiting = sorted(banks, reverse=True)
    while waiting and len(chosen) < beams:
        share, more = divmod(beams - len(chosen), len(waiting))
        for place, bank in enumerate(list(waiting)):
            size = share + (place < more)
            chosen += banks[bank][:size]
            del banks[bank][:size]
            if not banks[bank]:
                waiting.remove(bank)
    return sorted(chosen, key=lambda option: -option.score)


def with_forced(
    free: Candidates,
    hypotheses: Hypotheses,
    logits: Tensor,
    offset: Tensor,
    sentences: Sequence[Sentence | None],
    ids: SpecialIds,
) -> Candidates:
    """The candidates [R, C] of a search that knows of no forced words, and after them as many others, [R, 2 C]: of
    sentences that must contain words complete ones, then those that go on, shared out by how much of the words they
    contain; of other sentences none.
    """
    beams, count = hypotheses.complete.shape[1], free.score.shape[1]
    forced = Candidates(*(torch.zeros_like(each) for each in free))
    forced.score.fill_(-torch.inf)
    rows = [row for row, sentence in enumerate(sentences) if sentence is not None and sentence.request.forced]
    if rows:
        best = best_candidates(logits[rows], offset[rows], count + beams)
        for row, *of_row in zip(rows, *(each.tolist() for each in best), strict=True):
            sentence = sentences[row]
            assert sentence is not None
            words, scores = sentence.request.forced, logits[row] + offset[row, :, None]  # [B, V]
            answers = hypotheses.tokens[row, :, int(hypotheses.begin[row]) : int(hypotheses.length[row])].tolist()
            taken = _taken(free, row, beams, ids)
            found = options(list(zip(*of_row, strict=True)), answers, words, scores, taken)
            last = int(hypotheses.length[row]) + 1 == int(hypotheses.limit[row])
            chosen = _chosen(sorted(found, key=lambda option: -option.score), whole(words), beams, ids, last=last)
            for each, name in zip(forced, ("score", "parent", "token"), strict=True):
                each[row, : len(chosen)] = torch.tensor([getattr(option, name) for option in chosen], dtype=each.dtype)
    return Candidates(*(torch.cat(both, dim=1) for both in zip(free, forced, strict=True)))


def _taken(free: Candidates, row: int, beams: int, ids: SpecialIds) -> set[tuple[int, int]]:
    """What the free search goes on with or makes answers of: its best candidates, and the best that do not end."""
    found = list(zip(free.parent[row].tolist(), free.token[row].tolist(), strict=True))
    return {*found[:beams], *[each for each in found if each[1] not in ids.end][:beams]}


def _chosen(found: Sequence[Option], whole: int, beams: int, ids: SpecialIds, *, last: bool) -> list[Option]:
    """Of options, best first: the complete ones with all words, then those that go on; `last`: none goes on."""
    met = [option for option in found if option.progress == whole][:beams]
    if last:
        return met
    ends = [option for option in met if option.token in ids.end]
    return ends + shared_out([option for option in found if option.token not in ids.end], beams)
