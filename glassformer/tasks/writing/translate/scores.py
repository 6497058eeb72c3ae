"""Scores of translations: BLEU, chrF and TER as sacreBLEU computes them (Post 2018), with bootstrap intervals.

E sentences, or measured pairs · U different sources · K statistics of a sentence · N n-gram orders
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from glassformer.base.errors import ShapeError
from glassformer.data.batches.batch import Integers
from glassformer.data.stores.split import text_hash
from glassformer.scoring.score import THIS_MODEL, Measure, Reals, Scores, Unigram, share
from glassformer.scoring.verdict import QUOTES, WORST, quoted
from glassformer.tasks.writing.pair_source import PairSource, TargetLosses
from glassformer.text.words import UNSPACED

# The most words of the answer that are kept with a model.
_KEPT = 200


class TargetWords:
    """The words that most training targets have, as many as the source's length leads to expect, one of them twice
    where more targets have it twice: the unigram baseline of translations, and the best bag of words for BLEU.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self.words: tuple[str, ...] = tuple(facts["words"])
        self.ratio: float = facts["ratio"]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> Self:
        having = Counter[tuple[str, int]]()  # targets that have a word so many times
        characters = words = 0
        for source, target in pairs:
            there = Counter(target.split())
            having.update((word, time) for word, most in there.items() for time in range(1, most + 1))
            characters += len(source)
            words += there.total()
        usual = sorted(having.items(), key=lambda each: (-each[1], each[0]))[:_KEPT]
        return cls({"words": [word for (word, _), _ in usual], "ratio": words / max(1, characters)})

    def facts(self) -> dict[str, Any]:
        return {"words": list(self.words), "ratio": self.ratio}

    def translate(self, source: str) -> str:
        return " ".join(self.words[: max(1, round(self.ratio * len(source)))])


_UNSPACED = re.compile(f"[{UNSPACED}]")
COPY = "copy source"  # what names, numbers and marks are worth by themselves
_RIGHT = 100 - 1e-9  # the chrF of what is like its reference, but for the rounding of its computation
_ORDERS = 4  # the default of sacreBLEU: n-grams of 1 to 4 words for BLEU


class References:
    """Translations of some sentences, cut into n-grams once. Raises ShapeError for a sentence without a reference."""

    def __init__(self, references: Sequence[Sequence[str]]) -> None:
        from sacrebleu.metrics import BLEU, CHRF, TER  # takes 0.4 s

        if not references or not all(references):
            without = next((number for number, each in enumerate(references, 1) if not each), 0)
            raise ShapeError(
                "each translation needs at least one reference",
                got=f"none for sentence {without:,}" if without else "no sentence",
            )
        self.texts = [list(each) for each in references]
        hashes = [text_hash("\n".join(each)) for each in self.texts]
        self._asked = np.array(hashes, np.uint64).view(np.int64)  # [E]
        most = max(map(len, self.texts))
        # sacreBLEU takes the first references of all sentences, then the second ones, with None where there is none.
        by_rank = [[each[rank] if rank < len(each) else None for each in self.texts] for rank in range(most)]
        # `force`: no warning where words and punctuation are apart; what people measure on purpose is not commented.
        self._metrics: dict[str, Any] = {
            "bleu": BLEU(force=True, references=by_rank, tokenize=_tokenization(self.texts)),
            "chrf": CHRF(references=by_rank),
            "ter": TER(references=by_rank),
        }

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def signatures(self) -> dict[str, str]:
        """sacreBLEU's signatures by metric: settings and version, without which no two scores can be compared."""
        return {name: str(metric.get_signature()) for name, metric in self._metrics.items()}

    def measure(self, translations: Sequence[str], *, losses: Any = None, tokens: Any = None) -> Measure:
        """`bleu`, `chrf` and `ter` (0 to 100, `ter` may be above) and, from the summed `losses` [E] of `tokens` [E],
        `loss` and `perplexity`. Raises ShapeError for other numbers of sentences.
        """
        sides = {"translations": translations, "losses": losses, "tokens": tokens}
        for what, values in sides.items():
            if values is not None and len(values) != len(self):
                raise ShapeError(f"{len(self):,} sentences have as many {what}", got=f"{len(values):,}")
        parts: list[Reals] = [  # [E, K of this metric]
            np.asarray(metric._extract_corpus_statistics(translations, None), np.float64)
            for metric in self._metrics.values()
        ]
        known = losses is not None and tokens is not None
        if known:
            parts.append(np.stack([np.asarray(losses, np.float64), np.asarray(tokens, np.float64)], axis=1))  # [E, 2]
        ends = np.cumsum([part.shape[1] for part in parts])[:-1]

        def scores(sums: Reals) -> Mapping[str, Reals]:
            each = np.split(sums, ends, axis=-1)
            found = {
                name: _scores(metric, part) for (name, metric), part in zip(self._metrics.items(), each, strict=False)
            }
            if not known:
                return found
            loss = each[-1][..., 0] / each[-1][..., 1]
            return {**found, "loss": loss, "perplexity": np.exp(np.minimum(loss, 700.0))}

        return Measure(np.concatenate(parts, axis=1), scores, self._asked)  # [E, K]

    def of_each(self, translations: Sequence[str]) -> Reals:
        """The chrF of each sentence by itself. [E]"""
        metric = self._metrics["chrf"]
        return _scores(metric, np.array(metric._extract_corpus_statistics(translations, None)))


def _tokenization(references: Sequence[Sequence[str]]) -> str:
    """How sacreBLEU finds the words: as usual (13a), or by character where most letters stand without blanks between
    words; Chinese is cut as its shared tasks cut it (zh).
    """
    text = "".join(each for its in references for each in its)
    letters, unspaced = sum(map(str.isalpha, text)), _UNSPACED.findall(text)
    if 2 * len(unspaced) <= letters:
        return "13a"
    chinese = sum(letter >= "\u3400" for letter in unspaced)
    return "zh" if chinese > 0.9 * len(unspaced) else "char"


def _scores(metric: Any, sums: Reals) -> Reals:
    """The scores of sums [..., K] of its statistics. [...]"""
    # Two methods of sacreBLEU are used here that are not public: from these sums it computes its own scores and
    # resamples. The tests hold what follows from them to the public corpus_score.
    return np.apply_along_axis(lambda each: metric._compute_score_from_stats(each.tolist()).score, -1, sums)


@dataclass(frozen=True)
class System:
    """One system's translations and, where it gives probabilities, `losses` and `tokens` of the references [E]."""

    translations: Sequence[str]
    losses: Any = None
    tokens: Any = None


def translation_scores(
    sources: Sequence[str], references: References, model: System, baselines: Mapping[str, System] | None = None
) -> Scores:
    """Scores of a model and its baselines on the same sentences, with signatures and the worst translations."""
    systems = {THIS_MODEL: model, **(baselines or {})}
    measures = {
        name: references.measure(each.translations, losses=each.losses, tokens=each.tokens)
        for name, each in systems.items()
    }
    report = {
        **{f"{name}_signature": text for name, text in references.signatures.items()},
        "bleu_parts": bleu_parts(measures[THIS_MODEL].sums[: 2 + 2 * _ORDERS]),
        **_worst(sources, references, model.translations),
    }
    return Scores.measured("sentences", measures, shares=(), report=report)


def bleu_parts(sums: Reals) -> str:
    """The precisions of BLEU by order, its brevity penalty and the lengths, from its sums [2 + 2N], in words."""
    words, expected = sums[:2]
    precisions = 100 * share(sums[2 : 2 + _ORDERS], sums[2 + _ORDERS : 2 + 2 * _ORDERS])
    penalty = float(np.exp(min(0.0, 1 - expected / words))) if words else 0.0
    shown = "/".join(f"{each:.1f}" for each in precisions)
    return f"precisions {shown}, brevity penalty {penalty:.3f}, words {words:,.0f} of {expected:,.0f}"


def _worst(sources: Sequence[str], references: References, translations: Sequence[str]) -> dict[str, Any]:
    """`worst`, the translations with the lowest chrF, and a sentence that rows of the data are quoted."""
    by_sentence = references.of_each(translations)
    rows = [
        {
            "source": quoted(sources[row]),
            "reference": quoted(references.texts[row][0]),
            "translation": quoted(translations[row]),
            "chrf": round(float(by_sentence[row]), 1),
        }
        for row in np.argsort(by_sentence, kind="stable")[:WORST]
        if by_sentence[row] < _RIGHT
    ]
    return {"quotes": QUOTES, "worst": rows}


def scores_of_translations(
    source: PairSource, of: TargetLosses, translations: Sequence[str], unigram: Unigram, words: TargetWords | None
) -> Scores:
    """BLEU, chrF, TER and losses against all targets of each source, compared with copies and frequent words."""
    sources, place = different_sources(source, of)
    targets: list[list[str]] = [[] for _ in sources]
    for pair, at in zip(of.pairs.tolist(), place.tolist(), strict=True):
        targets[at].append(source.examples.targets[pair])
    tokens, losses, by_unigram = (
        np.bincount(place, values, len(sources)) for values in (of.tokens, of.losses, of.unigram)
    )
    others = {COPY: System(sources)}
    if words is not None:
        others[unigram.name] = System([words.translate(text) for text in sources], by_unigram, tokens)
    return translation_scores(sources, References(targets), System(translations, losses, tokens), others)


def different_sources(source: PairSource, of: TargetLosses) -> tuple[list[str], Integers]:
    """The measured sources, each once [U], and which of them each pair has [E]."""
    number: dict[str, int] = {}
    place = [number.setdefault(source.examples.sources[pair], len(number)) for pair in of.pairs.tolist()]
    return list(number), np.array(place, np.int64)
