"""Baselines without a network: what is most frequent in training, and TF-IDF with a linear model."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from experiments.encoder.plan import Plan
from experiments.encoder.sets import Record

MAJORITY, TFIDF = "majority", "tf-idf"
# Of each kind, where there is something to count.
KNOWN: dict[str, tuple[str, ...]] = {
    "classify": (MAJORITY, TFIDF),
    "several": (MAJORITY, TFIDF),
    "regress": (TFIDF,),
    "choose": (TFIDF,),
    "tag": (MAJORITY,),
    "answer": (),
}


def predict(plan: Plan, side: str, train: Sequence[Record], test: Sequence[Record]) -> list[Any]:
    """A prediction for each test record."""
    if side == TFIDF:
        return _most_alike(train, test) if plan.kind == "choose" else _linear(plan, train, test)
    if plan.kind == "tag":
        return _usual_tags(train, test)
    name = "label" if plan.kind == "classify" else "labels"
    usual = Counter(str(record[name]) for record in train).most_common(1)[0][0]
    return [next(record[name] for record in train if str(record[name]) == usual)] * len(test)


def _linear(plan: Plan, train: Sequence[Record], test: Sequence[Record]) -> list[Any]:
    """The baseline that every score of `glassformer evaluate` is compared with."""
    from glassformer.scoring.baselines import Lesson, TfIdf

    name = "labels" if plan.kind == "several" else "label"
    each = [record[name] if isinstance(record[name], list) else [record[name]] for record in train]
    labels = [] if plan.kind == "regress" else sorted({label for its in each for label in its})

    def target(its: list[Any]) -> Any:
        if plan.kind == "regress":
            return its[0]
        return tuple(labels.index(label) for label in its) if plan.kind == "several" else labels.index(its[0])

    def lesson(record: Record, its: list[Any]) -> Lesson:
        return Lesson(record["text"], record.get("pair"), target(its))

    fitted = TfIdf([lesson(*pair) for pair in zip(train, each, strict=True)], len(labels), strength=1.0)
    found = fitted.guess([lesson(record, each[0]) for record in test])
    if plan.kind == "regress":
        return [float(values[0]) for values in found]
    if plan.kind == "several":
        return [[label for label, value in zip(labels, values, strict=True) if value > 0] for values in found]
    return [labels[max(range(len(labels)), key=values.__getitem__)] for values in found]


def _most_alike(train: Sequence[Record], test: Sequence[Record]) -> list[Any]:
    """The choice with the largest cosine to the text."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    fitted = TfidfVectorizer(sublinear_tf=True).fit(
        text for record in train for text in (record["text"], *record["choices"])
    )
    found = []
    for record in test:
        likeness = (fitted.transform(record["choices"]) @ fitted.transform([record["text"]]).T).toarray()[:, 0]
        found.append(int(likeness.argmax()))
    return found


def _usual_tags(train: Sequence[Record], test: Sequence[Record]) -> list[Any]:
    """The tag that each word mostly had; for a word that was not seen, the most frequent one of all."""
    counts: dict[str, Counter[str]] = {}
    for record in train:
        for word, tag in zip(record["words"], record["tags"], strict=True):
            counts.setdefault(word, Counter())[tag] += 1
    usual = sum(counts.values(), Counter()).most_common(1)[0][0]
    mostly = {word: its.most_common(1)[0][0] for word, its in counts.items()}
    return [[mostly.get(word, usual) for word in record["words"]] for record in test]
