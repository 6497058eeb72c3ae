"""One step of the search: from the logits of the next tokens to the hypotheses that go on, and what these are worth.

R rows, one for each sentence · B hypotheses of a row · T tokens · V vocabulary · C candidates
N sentences that begin, or answers that are complete · M memory tokens
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.data.batches.batch import uniform
from glassformer.decode.candidates import best_in_groups, repeated, with_forced
from glassformer.decode.choose import Candidates, best_candidates, best_tokens, drawn, filtered, log_totals
from glassformer.decode.control import Control
from glassformer.decode.hypotheses import Hypotheses, Sentence
from glassformer.decode.record import Chosen
from glassformer.decode.request import Finished, Hypothesis, Request, before_stop, contains, text_after
from glassformer.decode.settings import DecodeSettings
from glassformer.decode.step import Wanted


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


class Search:
    """Which tokens follow, which answers are complete, and which hypotheses cannot become the best any more. Where
    requests have `forced` words, a row has the hypotheses of two searches: the first half of one that does not know of
    the words, the second of one whose beams are shared out by them. So no answer is worse than one that contains the
    words without being asked to.
    """

    def __init__(self, wanted: Wanted) -> None:
        self.settings, self.ids, self.text_of, self.forced = wanted.settings, wanted.ids, wanted.text_of, wanted.forced
        self.recorder, settings, forced = wanted.recorder, wanted.settings, wanted.forced
        self.beams, self.beam = settings.width, settings.method == "beam"
        self.groups = 2 if forced else settings.groups
        self.of_group = self.beams if forced else self.beams // settings.groups  # hypotheses of each
        self.control = Control(settings, wanted.ids)

    def begin(self, requests: Sequence[Request], tokens: Tensor, lengths: Tensor, logits: Tensor) -> Hypotheses:
        """Sentences of which only the prompts [N, P] are known. A beam begins with one hypothesis."""
        rows, beams, device = len(requests), 1 if self.beam else self.beams, logits.device
        begin = [len(request.prompt or (self.ids.begin,)) for request in requests]
        most = [request.max_tokens or self.settings.max_tokens for request in requests]
        likely = [request.likely or a for request, a in zip(requests, most, strict=True)]
        tokens = tokens[:, None].expand(-1, beams, -1).clone()  # [N, B, P]
        none = torch.zeros(rows, beams, 0, dtype=logits.dtype, device=device)
        return Hypotheses(
            tokens=tokens,
            log_probabilities=torch.zeros_like(tokens, dtype=logits.dtype),
            score=torch.zeros(rows, beams, dtype=logits.dtype, device=device),
            look=torch.zeros_like(tokens, dtype=torch.bool),
            begin=torch.tensor(begin, device=device),
            length=lengths,
            limit=torch.tensor([a + b for a, b in zip(begin, most, strict=True)], device=device),
            likely=torch.tensor([a + min(b, c) for a, b, c in zip(begin, most, likely, strict=True)], device=device),
            number=torch.tensor([request.number for request in requests], device=device),
            complete=torch.full((rows, self.beams), -torch.inf, dtype=logits.dtype, device=device),
            places=torch.arange(tokens.shape[2], device=device).expand(rows, -1).clone(),
            attention=none,
            coverage=none,
        )

    def advance(
        self, hypotheses: Hypotheses, logits: Tensor, sentences: Sequence[Sentence | None], memory_real: Tensor | None
    ) -> None:
        """Each hypothesis goes on by one token: logits [R, B, V]. Complete answers go to their sentences."""
        log_total = log_totals(logits)  # [R, B]
        candidates = self.choose(hypotheses, logits, log_total, sentences)  # each [R, C]
        row = torch.arange(len(logits), device=logits.device)[:, None]  # [R, 1]
        log_probability = logits[row, candidates.parent, candidates.token] - log_total.gather(1, candidates.parent)
        length = hypotheses.length[:, None] + 1  # [R, 1]
        answer = length - hypotheses.begin[:, None]  # [R, 1]
        ended = torch.zeros_like(candidates.token, dtype=torch.bool)  # [R, C]
        for end in self.ids.end:
            ended = ended | (candidates.token == end)
        over = ended | (length == hypotheses.limit[:, None])  # [R, C]
        if self.settings.stop:
            over = over | self.stopped(hypotheses, candidates, over)
        score = final_score(candidates.score, answer, self.settings)  # [R, C]
        coverage = None
        if self.settings.coverage_penalty and memory_real is not None:
            coverage = coverage_penalty(hypotheses.coverage[:, :, : memory_real.shape[1]], memory_real, self.settings)
            coverage = coverage.gather(1, candidates.parent)  # [R, C]
            score = score + coverage
        found = complete = self.complete(over, candidates)  # [R, C]
        if self.groups > 1:
            found = complete = complete & ~repeated(candidates, hypotheses, complete)
        if self.forced:
            complete = self.with_words(hypotheses, candidates, ended, complete, score, sentences)  # [R, C]
        answers = complete
        if self.beam:
            answers = complete & (score > hypotheses.complete[:, -1:])
        self.report(hypotheses, candidates, log_probability, ended, answers, score, sentences)
        hypotheses.score = candidates.score.masked_fill(over, -torch.inf)  # [R, C]
        parent, token, of_token = candidates.parent, candidates.token, log_probability
        on = None
        if self.beam:
            best = torch.cat((hypotheses.complete, score.masked_fill(~complete, -torch.inf)), dim=1)  # [R, B + C]
            hypotheses.complete = best.topk(self.beams, dim=1).values  # [R, B]
            on = self.going_on(over)  # [R, B]
            parent, token, of_token = (each.gather(1, on) for each in (parent, token, log_probability))
            hypotheses.score = hypotheses.score.gather(1, on)  # [R, B]
        hypotheses.follow(parent, token, of_token)
        if self.beam:
            self.give_up(hypotheses, answer)
        if self.recorder is not None:
            within = self.complete(over, candidates)  # [R, C]
            chosen = Chosen(
                *candidates,
                log_probability=log_probability,
                score=score,
                penalty=length_penalty(answer, self.settings),
                coverage=torch.zeros_like(score) if coverage is None else coverage,
                over=over,
                answers=answers,
                repeated=within & ~found,
                wordless=found & ~complete,
                going_on=torch.arange(parent.shape[1]).expand_as(parent) if on is None else on,
                alive=hypotheses.score > -torch.inf,
            )
            self.recorder.record(chosen, sentences)

    def choose(
        self, hypotheses: Hypotheses, logits: Tensor, log_total: Tensor, sentences: Sequence[Sentence | None]
    ) -> Candidates:
        """The candidates for the next step, [R, C]: the best of all of a row, or one for each hypothesis."""
        settings, given, own_total = self.settings, logits, log_total
        forbidden = [() if each is None else each.request.forbidden for each in sentences]
        logits, log_total = self.control(hypotheses, logits, log_total, forbidden, _following(hypotheses, sentences))
        offset = hypotheses.score - log_total  # [R, B]
        # So many candidates that enough go on when each of the best ends.
        count = (1 + max(1, len(self.ids.end))) * self.of_group
        if self.recorder is not None:
            self.recorder.before(hypotheses, given, own_total, logits, count if self.beam else None)
        if self.beam:
            if not self.forced:
                return best_in_groups(logits, offset, count, settings, self.ids)
            free = best_candidates(logits[:, : self.beams], offset[:, : self.beams], count)
            return with_forced(free, hypotheses, logits, offset, sentences, self.ids)
        chance = None
        if settings.method == "greedy":
            token = best_tokens(logits)  # [R, B]
        else:
            kept = filtered(logits / settings.temperature, settings.top_k, settings.top_p, settings.min_p)
            chance = self.chances(hypotheses)  # [R, B]
            token = drawn(kept, chance)  # [R, B]
        if self.recorder is not None:
            self.recorder.drawing(hypotheses, given, own_total, logits, token, settings, chance)
        score = logits.gather(2, token[:, :, None])[..., 0] + offset  # [R, B]
        parent = torch.arange(token.shape[1], device=token.device).expand_as(token)  # [R, B]
        return Candidates(score, parent, token)

    def chances(self, hypotheses: Hypotheses) -> Tensor:
        """A number in [0, 1) for each sample [R, B], from the seed, the request, the token's place and the sample."""
        sample = torch.arange(self.beams).numpy()[None]  # [1, B]
        number, place = (each.cpu().numpy()[:, None] for each in (hypotheses.number, hypotheses.length))  # [R, 1]
        return torch.from_numpy(uniform(self.settings.seed, number, place, sample)).to(hypotheses.score.device)

    def complete(self, over: Tensor, candidates: Candidates) -> Tensor:
        """Which candidates [R, C] are answers: ended and among the best of their group, or forced."""
        complete = over & (candidates.score > -torch.inf)
        if not self.beam:
            return complete
        count = complete.shape[1] // self.groups
        rank = torch.arange(count, device=over.device).repeat(self.groups)  # [C]
        if self.forced:
            rank[count:] = 0
        return complete & (rank < self.of_group)

    def going_on(self, over: Tensor) -> Tensor:
        """The candidates that go on, best first in each group: [R, C] to [R, B]."""
        grouped = over.unflatten(1, (self.groups, -1))  # [R, G, C / G]
        # A stable order by whether they are over.
        on = grouped.byte().argsort(dim=2, stable=True)[..., : self.of_group]  # [R, G, B / G]
        return (on + torch.arange(self.groups, device=over.device)[:, None] * grouped.shape[2]).flatten(1)  # [R, B]

    def with_words(
        self,
        hypotheses: Hypotheses,
        candidates: Candidates,
        ended: Tensor,
        complete: Tensor,
        score: Tensor,
        sentences: Sequence[Sentence | None],
    ) -> Tensor:
        """Which of the complete candidates [R, C] contain the words that their requests force."""
        kept = complete.clone()
        for row, place in (complete & (score > hypotheses.complete[:, -1:])).nonzero().tolist():
            sentence = sentences[row]
            assert sentence is not None
            if not sentence.request.forced:
                continue
            last, answer = self.answer(hypotheses, candidates, row, place)
            answer = answer[:-1] if ended[row, place] else answer
            text = None
            if self.text_of is not None:
                text = before_stop(text_after(self.text_of, last, answer), self.settings.stop)
            kept[row, place] = all(
                contains(text, word.text) if text is not None and word.text else word.stands_in(answer)
                for word in sentence.request.forced
            )
        return kept

    def answer(
        self, hypotheses: Hypotheses, candidates: Candidates, row: int, place: int
    ) -> tuple[list[int], list[int]]:
        """The last token of the prompt, which decides on the blank after it, and the tokens of a candidate."""
        begin, length = int(hypotheses.begin[row]), int(hypotheses.length[row])
        known = hypotheses.tokens[row, int(candidates.parent[row, place]), begin - 1 : length].tolist()
        return known[:1], [*known[1:], int(candidates.token[row, place])]

    def stopped(self, hypotheses: Hypotheses, candidates: Candidates, over: Tensor) -> Tensor:
        """Which candidates [R, C] contain a stop string."""
        stopped = torch.zeros_like(over)
        if self.text_of is None:
            return stopped
        for row, place in ((candidates.score > -torch.inf) & ~over).nonzero().tolist():
            text = text_after(self.text_of, *self.answer(hypotheses, candidates, row, place))
            stopped[row, place] = any(stop in text for stop in self.settings.stop)
        return stopped

    def report(
        self,
        hypotheses: Hypotheses,
        candidates: Candidates,
        log_probability: Tensor,
        ended: Tensor,
        answers: Tensor,
        score: Tensor,
        sentences: Sequence[Sentence | None],
    ) -> None:
        """These candidates [R, C] become answers of their sentences."""
        rows, places = answers.nonzero().unbind(dim=1)  # [N], [N]
        if not len(rows):
            return
        # Read at once: a number that is read by itself costs as much as all of them.
        parents = candidates.parent[rows, places]  # [N]
        tokens = hypotheses.tokens[rows, parents].tolist()  # [N, T]
        logarithms = hypotheses.log_probabilities[rows, parents].tolist()  # [N, T]
        begins, lengths = hypotheses.begin[rows].tolist(), hypotheses.length[rows].tolist()  # [N], [N]
        newest = (each[rows, places].tolist() for each in (candidates.token, log_probability, ended, score))  # [N]
        for number, (row, place, parent, token, logarithm, ends, value) in enumerate(
            zip(rows.tolist(), places.tolist(), parents.tolist(), *newest, strict=True)
        ):
            sentence = sentences[row]
            assert sentence is not None
            of_answer = slice(begins[number], lengths[number])
            ids = [*tokens[number][of_answer], *([] if ends else [token])]
            logs = [*logarithms[number][of_answer], logarithm]
            answer = Hypothesis(
                ids=tuple(ids),
                score=value,
                log_probability=sum(logs),
                token_log_probabilities=tuple(logs),
                ended=ends,
                end=token if ends else None,
                attention=hypotheses.attention_of(row, parent, len(sentence.request.source or ())),
            )
            if self.beam:
                sentence.add(answer, self.beams)
            else:
                sentence.samples[place] = answer

    def give_up(self, hypotheses: Hypotheses, answer: Tensor) -> None:
        """Drop hypotheses that cannot become one of the answers: of `answer` [R, 1] tokens so far. In one group, one
        that is dropped would have had worse successors alone. Groups go on as long as one of a row can, since each
        changes what later ones choose.
        """
        settings, score = self.settings, hypotheses.score
        if settings.early_stopping == "exact":
            most = (hypotheses.limit.minimum(hypotheses.likely) - hypotheses.begin)[:, None]  # [R, 1]
            least = hypotheses.complete[:, settings.n_best - 1, None]  # [R, 1]
            hopeless = upper_bound(score, answer, most, settings) <= least  # [R, B]
            if settings.groups > 1:
                hopeless = hopeless.all(dim=1, keepdim=True)  # [R, 1]
        else:
            worst = hypotheses.complete[:, -1:]  # [R, 1]
            hopeless = worst > -torch.inf
            if settings.early_stopping == "estimate":
                best = final_score(score.amax(dim=1, keepdim=True), answer, settings)  # [R, 1]
                hopeless = hopeless & (best <= worst)
        hypotheses.score = score.masked_fill(hopeless, -torch.inf)

    def finished(self, sentence: Sentence) -> Finished:
        if self.beam:
            return Finished(sentence.request.number, sentence.answers[: self.settings.n_best])
        return Finished(sentence.request.number, [sentence.samples[each] for each in sorted(sentence.samples)])


def _following(hypotheses: Hypotheses, sentences: Sequence[Sentence | None]) -> list[Sequence[int]]:
    """Of each row, the tokens one of which comes next; none where the row does not end with such a prefix."""
    requests = [None if sentence is None else sentence.request for sentence in sentences]
    if not any(request is not None and request.following for request in requests):
        return []
    begun = (hypotheses.length - hypotheses.begin).tolist()  # [R]
    return [
        request.following if request is not None and size == len(request.prefix) else ()
        for request, size in zip(requests, begun, strict=True)
    ]
