"""One step of the search: from the logits of the next tokens to the hypotheses that go on.

R rows, one for each sentence · B hypotheses of a row · T tokens · V vocabulary · C candidates · N sentences that begin
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from glassformer.data.counter_rng import uniform
from glassformer.decode.choose import Candidates, best_candidates, drawn, filtered
from glassformer.decode.hypotheses import Hypotheses, Sentence
from glassformer.decode.request import Finished, Hypothesis, Request, SpecialIds
from glassformer.decode.score import final_score, upper_bound
from glassformer.decode.settings import DecodeSettings


class Search:
    """Which tokens follow, which answers are complete, and which hypotheses cannot become the best any more."""

    def __init__(self, settings: DecodeSettings, ids: SpecialIds) -> None:
        self.settings, self.ids = settings, ids
        self.beams, self.beam = settings.width, settings.method == "beam"
        # So many candidates that enough go on when each of the best ends.
        self.candidates = (1 + max(1, len(ids.end))) * self.beams

    def begin(self, requests: Sequence[Request], tokens: Tensor, lengths: Tensor, logits: Tensor) -> Hypotheses:
        """Sentences of which only the prompts [N, P] are known. A beam begins with one hypothesis."""
        rows, beams, device = len(requests), 1 if self.beam else self.beams, logits.device
        begin = [len(request.prompt or (self.ids.begin,)) for request in requests]
        most = [request.max_tokens or self.settings.max_tokens for request in requests]
        tokens = tokens[:, None].expand(-1, beams, -1).clone()  # [N, B, P]
        return Hypotheses(
            tokens=tokens,
            log_probabilities=torch.zeros_like(tokens, dtype=logits.dtype),
            score=torch.zeros(rows, beams, dtype=logits.dtype, device=device),
            look=torch.zeros_like(tokens, dtype=torch.bool),
            begin=torch.tensor(begin, device=device),
            length=lengths,
            limit=torch.tensor([a + b for a, b in zip(begin, most, strict=True)], device=device),
            number=torch.tensor([request.number for request in requests], device=device),
            complete=torch.full((rows, self.beams), -torch.inf, dtype=logits.dtype, device=device),
        )

    def advance(self, hypotheses: Hypotheses, logits: Tensor, sentences: Sequence[Sentence | None]) -> None:
        """Each hypothesis goes on by one token: logits [R, B, V]. Complete answers go to their sentences."""
        log_total = logits.logsumexp(dim=-1)  # [R, B]
        candidates = self.choose(hypotheses, logits, log_total)  # each [R, C]
        row = torch.arange(len(logits), device=logits.device)[:, None]  # [R, 1]
        log_probability = logits[row, candidates.parent, candidates.token] - log_total.gather(1, candidates.parent)
        length = hypotheses.length[:, None] + 1  # [R, 1]
        answer = length - hypotheses.begin[:, None]  # [R, 1]
        ended = torch.isin(candidates.token, torch.tensor(self.ids.end, device=logits.device))  # [R, C]
        over = ended | (length == hypotheses.limit[:, None])  # [R, C]
        complete = over & (candidates.score > -torch.inf)
        complete[:, self.beams :] = False  # [R, C]
        score = final_score(candidates.score, answer, self.settings)  # [R, C]
        self.report(hypotheses, candidates, log_probability, ended, complete, score, sentences)
        # Those that go on, best first: a stable order by whether they are over.
        if self.beam:
            on = over.byte().argsort(dim=1, stable=True)[:, : self.beams]  # [R, B]
            parent, token = candidates.parent.gather(1, on), candidates.token.gather(1, on)
            log_probability = log_probability.gather(1, on)
            hypotheses.score = candidates.score.masked_fill(over, -torch.inf).gather(1, on)  # [R, B]
            best = torch.cat((hypotheses.complete, score.masked_fill(~complete, -torch.inf)), dim=1)  # [R, B + C]
            hypotheses.complete = best.topk(self.beams, dim=1).values  # [R, B]
        else:
            parent, token = candidates.parent, candidates.token
            hypotheses.score = candidates.score.masked_fill(over, -torch.inf)  # [R, B]
        hypotheses.follow(parent, token, log_probability)
        if self.beam:
            self.give_up(hypotheses, answer)

    def choose(self, hypotheses: Hypotheses, logits: Tensor, log_total: Tensor) -> Candidates:
        """The candidates for the next step, [R, C]: the best of all of a row, or one for each hypothesis."""
        settings = self.settings
        offset = hypotheses.score - log_total  # [R, B]
        if settings.method == "beam":
            return best_candidates(logits, offset, self.candidates)
        if settings.method == "greedy":
            token = logits.argmax(dim=-1)  # [R, B]
        else:
            kept = filtered(logits / settings.temperature, settings.top_k, settings.top_p, settings.min_p)
            token = drawn(kept, self.chances(hypotheses))  # [R, B]
        score = logits.gather(2, token[:, :, None])[..., 0] + offset  # [R, B]
        parent = torch.arange(token.shape[1], device=token.device).expand_as(token)  # [R, B]
        return Candidates(score, parent, token)

    def chances(self, hypotheses: Hypotheses) -> Tensor:
        """A number in [0, 1) for each sample [R, B], from the seed, the request, the token's place and the sample."""
        sample = torch.arange(self.beams).numpy()[None]  # [1, B]
        number, place = (each.cpu().numpy()[:, None] for each in (hypotheses.number, hypotheses.length))  # [R, 1]
        return torch.from_numpy(uniform(self.settings.seed, number, place, sample)).to(hypotheses.score.device)

    def report(
        self,
        hypotheses: Hypotheses,
        candidates: Candidates,
        log_probability: Tensor,
        ended: Tensor,
        complete: Tensor,
        score: Tensor,
        sentences: Sequence[Sentence | None],
    ) -> None:
        """Complete candidates [R, C] become answers of their sentences where they are among the best."""
        if self.beam:
            complete = complete & (score > hypotheses.complete[:, -1:])
        for row, place in complete.nonzero().tolist():
            sentence = sentences[row]
            assert sentence is not None
            begin, length = int(hypotheses.begin[row]), int(hypotheses.length[row])
            parent = int(candidates.parent[row, place])
            tokens = hypotheses.tokens[row, parent, begin:length].tolist()
            logs = hypotheses.log_probabilities[row, parent, begin:length].tolist()
            logs.append(float(log_probability[row, place]))
            ends = bool(ended[row, place])
            answer = Hypothesis(
                ids=tuple(tokens if ends else [*tokens, int(candidates.token[row, place])]),
                score=float(score[row, place]),
                log_probability=sum(logs),
                token_log_probabilities=tuple(logs),
                ended=ends,
            )
            if self.beam:
                sentence.add(answer, self.beams)
            else:
                sentence.samples[place] = answer

    def give_up(self, hypotheses: Hypotheses, answer: Tensor) -> None:
        """Drop hypotheses that cannot become one of the answers: of `answer` [R, 1] tokens so far."""
        settings, score = self.settings, hypotheses.score
        if settings.early_stopping == "exact":
            most = (hypotheses.limit - hypotheses.begin)[:, None]  # [R, 1]
            least = hypotheses.complete[:, settings.n_best - 1, None]  # [R, 1]
            hopeless = upper_bound(score, answer, most, settings) <= least  # [R, B]
        else:
            worst = hypotheses.complete[:, -1:]  # [R, 1]
            hopeless = worst > -torch.inf
            if settings.early_stopping == "estimate":
                best = final_score(score.amax(dim=1, keepdim=True), answer, settings)  # [R, 1]
                hopeless = hopeless & (best <= worst)
        hypotheses.score = score.masked_fill(hopeless, -torch.inf)

    def finished(self, sentence: Sentence) -> Finished:
        """The answers of a sentence."""
        if self.beam:
            return Finished(sentence.request.number, sentence.answers[: self.settings.n_best])
        return Finished(sentence.request.number, [sentence.samples[each] for each in sorted(sentence.samples)])
