"""A baseline that sees only words: TF-IDF and a linear model, fitted on the training records.

E examples · L labels · F features
"""

import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from glassformer.data.stores.split import shared, text_hash
from glassformer.scoring.score import Integers, Reals
from glassformer.text.words import UNSPACED, marks

TFIDF = "TF-IDF"

# What the fit may cost: records, characters of all of them and of each, and features.
_RECORDS, _CHARACTERS, _OF_A_TEXT, _FEATURES = 100_000, 40_000_000, 20_000, 100_000
# The most labels that it knows, the most frequent ones; and the most products of features that are not 0 and labels:
# a step of the fit then takes about 0.2 s on one core.
_LABELS, _PRODUCTS = 500, 100_000_000
_STEPS = 200
# Strengths of the regularization (scikit-learn's C, of which a small one regularizes more) among which is chosen: those
# of standardized vectors, of length √F, are about F times smaller. It is chosen on at most so many records.
STRENGTHS_OF_WORDS = (1.0, 10.0, 100.0)
_TRIED, _ASIDE = 20_000, 0.2
ACCURACY, MACRO_F1 = "accuracy", "macro F1"
# Examples whose scores [E, L] are in memory together, and the most of these scores.
_TOGETHER, _SCORES = 1024, 1 << 20


class Lesson(NamedTuple):
    """Words of an example, and its label's number, the numbers of several, or a number to predict."""

    text: str
    pair: str | None
    target: int | tuple[int, ...] | float


class TfIdf:
    """Frequencies of words and pairs of words, weighted by how rare they are (TF-IDF, sublinear), and a linear model:
    multinomial logistic regression for one label, one regression for each of several, ridge for a number.

    A pair has the features of both texts, their products, and their cosine. Deterministic. The cost of the fit is
    bounded: `note` says what was left out of it, "" when nothing was. `strength` is that of the regularization for one
    label (scikit-learn's C); None: of `STRENGTHS_OF_WORDS` the one with the highest accuracy.
    """

    def __init__(self, lessons: Sequence[Lesson], labels: int, *, strength: float | None = None) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        chosen, kept = _kept_labels(lessons, _sample(lessons))
        self.note = _left_out(len(lessons), len(chosen), labels, len(kept))
        self._labels, self._kept = labels, kept
        # A word is letters, their marks and digits in a row, or one letter of a script without blanks between words.
        unspaced = re.compile(rf"[{UNSPACED}][{marks()}]*")
        self._vectorizer = TfidfVectorizer(
            ngram_range=(1, 2), sublinear_tf=True, max_features=_FEATURES, token_pattern=rf"\w[\w{marks()}]*",
            preprocessor=lambda text: text.lower() if text.isascii() else unspaced.sub(r" \g<0> ", text.lower()),
        )  # fmt: skip
        texts = (text for lesson in chosen for text in (lesson.text, lesson.pair) if text is not None)
        try:
            self._vectorizer.fit(text[:_OF_A_TEXT] for text in texts)
        except ValueError:  # no word in any text: only signs
            self._vectorizer = None
        features = self._features(chosen)  # [E, F]
        affordable = max(2, _PRODUCTS // max(1, len(kept)) * len(chosen) // max(1, features.nnz))
        if affordable < len(chosen):  # they are in random order
            chosen, features = chosen[:affordable], features[:affordable]
            self.note = _left_out(len(lessons), len(chosen), labels, len(kept))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit that ends at its last step is good enough to compare with
            targets = [lesson.target for lesson in chosen]
            if strength is None:
                strength = _strength(features[:_TRIED], chosen[:_TRIED]) if isinstance(targets[0], int) else 1.0
            self._predict = _fitted(features, targets, labels, strength)

    def guess(self, lessons: Sequence[Lesson]) -> Iterator[list[float]]:
        """For each lesson the output of a head, [L]: log-probabilities, logits of several labels, or one number."""
        together = max(1, min(_TOGETHER, _SCORES // max(1, self._labels)))
        for start in range(0, len(lessons), together):
            yield from self._predict(self._features(lessons[start : start + together])).tolist()

    def _features(self, lessons: Sequence[Lesson]) -> Any:
        from scipy.sparse import csr_matrix, hstack

        if self._vectorizer is None:
            return csr_matrix((len(lessons), 1))
        first = self._vectorizer.transform([lesson.text[:_OF_A_TEXT] for lesson in lessons])  # [E, F]
        if lessons[0].pair is None:
            return first
        second = self._vectorizer.transform([(lesson.pair or "")[:_OF_A_TEXT] for lesson in lessons])  # [E, F]
        product = first.multiply(second)  # [E, F]
        cosine = csr_matrix(product.sum(axis=1))  # [E, 1]: the rows have length 1
        return hstack([first, second, product, cosine], format="csr")  # [E, 3F + 1]


def chosen_strength(
    strengths: Sequence[float],
    of: Integers,
    groups: Integers,
    score: str,
    guess: Callable[[Integers, Integers, float], Integers],
) -> float:
    """The strength that does best, by the ranking score, on a fifth of the groups after fitting on the others; of
    equally good ones the smallest, which regularizes most. The middle one where the others have only one label.

    `of` [E] are the labels; `guess` takes the numbers of the examples to fit on, those to predict, and a strength, and
    returns the labels of the second.
    """
    from sklearn.metrics import accuracy_score, f1_score

    _, group = np.unique(groups, return_inverse=True)  # [E]
    aside = np.random.default_rng(0).random(int(group.max()) + 1)[group] < _ASIDE  # [E]
    if not aside.any() or len(np.unique(of[~aside])) < 2:
        return strengths[len(strengths) // 2]
    kept, tried = np.flatnonzero(~aside), np.flatnonzero(aside)
    found = []
    for strength in sorted(strengths):
        guessed = guess(kept, tried, strength)
        found.append(
            accuracy_score(of[tried], guessed)
            if score == ACCURACY
            else f1_score(of[tried], guessed, average="macro", zero_division=0)
        )
    return sorted(strengths)[int(np.argmax(found))]


def repeated(known_by: Callable[[Any], str | None], train: Sequence[Any], measured: Sequence[Any]) -> int:
    """How many examples that are measured have the text of a training example, by which it is `known_by`."""
    hashes = [
        [text_hash(text) for each in examples if (text := known_by(each)) is not None] for examples in (train, measured)
    ]
    return shared(np.array(hashes[0], np.uint64), np.array(hashes[1], np.uint64))


Fitted = Callable[[Any], Reals]
"""The outputs of a head for features, [E, F] -> [E, L]."""


def _classes(features: Any, targets: Sequence[int] | Integers, labels: int, strength: float) -> Fitted:
    """Log-probabilities of multinomial logistic regression; labels that it has not seen share what add-one smoothing
    leaves them.
    """
    from sklearn.linear_model import LogisticRegression

    seen, model = np.unique(np.asarray(targets)), None
    if len(seen) > 1:
        model = LogisticRegression(C=strength, max_iter=_STEPS).fit(features, targets)
    unseen = labels - len(seen)
    rest = unseen / (len(targets) + labels)

    def guess(features: Any) -> Reals:
        count = features.shape[0]
        found = np.full((count, labels), math.log(rest / max(1, unseen)) if rest else -math.inf)
        of_seen = np.zeros((count, 1)) if model is None else model.predict_log_proba(features)
        found[:, seen] = np.maximum(of_seen, -700.0) + math.log1p(-rest)
        return found

    return guess


def _several(features: Any, targets: Sequence[tuple[int, ...]], labels: int) -> Fitted:
    """Logits, of a logistic regression for each label; of one that all examples or none have, by its frequency."""
    from sklearn.linear_model import LogisticRegression

    has = np.zeros((len(targets), labels), bool)  # [E, L]
    for row, target in enumerate(targets):
        has[row, list(target)] = True
    share = (has.sum(axis=0) + 0.5) / (len(targets) + 1)  # [L]
    constant = np.log(share / (1 - share))  # [L]
    models = {
        int(label): LogisticRegression(max_iter=_STEPS).fit(features, has[:, label])
        for label in np.argsort(-has.sum(axis=0), kind="stable")[:_LABELS]
        if 0 < has[:, label].sum() < len(targets)
    }

    def guess(features: Any) -> Reals:
        found = np.tile(constant, (features.shape[0], 1))  # [E, L]
        for label, model in models.items():
            found[:, label] = model.decision_function(features)
        return found

    return guess


def _number(features: Any, targets: Sequence[float]) -> Fitted:
    from sklearn.linear_model import Ridge

    model = Ridge(alpha=1.0, solver="sparse_cg", max_iter=_STEPS).fit(features, np.asarray(targets, float))
    return lambda features: np.asarray(model.predict(features))[:, None]


def _strength(features: Any, lessons: Sequence[Lesson]) -> float:
    """The strength for features [E, F] of lessons with one label; copies of a text are set aside together."""
    of = np.array([lesson.target for lesson in lessons], np.int64)  # [E]
    hashes = np.array([text_hash(f"{lesson.text}\0{lesson.pair or ''}") for lesson in lessons], np.uint64)
    _, groups = np.unique(hashes, return_inverse=True)  # [E]

    def guess(kept: Integers, tried: Integers, strength: float) -> Integers:
        scores = _classes(features[kept], of[kept], int(of.max()) + 1, strength)(features[tried])  # [T, L]
        return scores.argmax(axis=1)

    return chosen_strength(STRENGTHS_OF_WORDS, of, groups, ACCURACY, guess)


def _fitted(features: Any, targets: Sequence[Any], labels: int, strength: float) -> Fitted:
    if isinstance(targets[0], tuple):
        return _several(features, targets, labels)
    if isinstance(targets[0], float):
        return _number(features, targets)
    return _classes(features, targets, labels, strength)


def _sample(lessons: Sequence[Lesson]) -> list[Lesson]:
    chosen: list[Lesson] = []
    characters = 0
    for number in np.random.default_rng(0).permutation(len(lessons))[:_RECORDS].tolist():
        lesson = lessons[number]
        characters += min(len(lesson.text), _OF_A_TEXT) + min(len(lesson.pair or ""), _OF_A_TEXT)
        if chosen and characters > _CHARACTERS:
            break
        chosen.append(lesson)
    return chosen


def _kept_labels(lessons: Sequence[Lesson], chosen: list[Lesson]) -> tuple[list[Lesson], set[int]]:
    """The lessons of the most frequent labels, and these labels; of a number, or several labels, all lessons."""
    first = lessons[0].target
    if isinstance(first, float):
        return chosen, set()
    if isinstance(first, tuple):
        many = Counter(label for lesson in chosen for label in lesson.target)  # type: ignore[union-attr]
        return chosen, {label for label, _ in many.most_common(_LABELS)}
    counts = Counter(lesson.target for lesson in chosen)
    kept = {int(label) for label, _ in counts.most_common(_LABELS)}  # type: ignore[arg-type]
    return [lesson for lesson in chosen if lesson.target in kept], kept


def _left_out(lessons: int, fitted: int, labels: int, kept: int) -> str:
    parts = []
    if fitted < lessons:
        parts.append(f"{fitted:,} of {lessons:,} training records, drawn at random")
    if kept == _LABELS < labels:
        parts.append(f"the {kept:,} most frequent of {labels:,} labels")
    return f"the {TFIDF} baseline was fitted on {' and '.join(parts)}" if parts else ""
