"""A logistic regression on features: its weights are for the vectors as they are, and its file is whole or refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.cli.__main__ import main
from glassformer.features import probe as probing
from glassformer.features.pipeline import probe_of
from glassformer.features.probe import Probe, learn_probe, read_probe, write_probe
from glassformer.features.strategies import Mix
from tests.contracts.tasks import SENTENCES
from tests.refusals import refused

GENERATOR = np.random.default_rng(3)


@pytest.mark.parametrize("count", [2, 3])
def test_the_weights_are_for_the_vectors_as_they_are(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "STRENGTHS", (0.3,))
    vectors = (GENERATOR.normal(size=(90, 5)) * [1, 9, 0.1, 3, 0] + 2).astype(np.float32)
    numbers = GENERATOR.integers(0, count, 90)
    vectors[np.arange(90), numbers] += 4
    labels = ["abc"[number] for number in numbers]
    probe = learn_probe(vectors, labels, strategy="last", pooling="mean")
    spread = vectors.std(axis=0)
    spread[spread < 1e-8] = 1
    scaled = (vectors - vectors.mean(axis=0)) / spread
    expected = LogisticRegression(C=0.3, max_iter=500).fit(scaled, labels).predict_proba(scaled)
    assert probe.labels == tuple("abc"[:count])
    assert np.abs(probe.probabilities(vectors) - expected).max() < 1e-5


def test_a_pipeline_is_shown_as_it_answers(model: Model) -> None:
    labels = [n % 2 for n in range(len(SENTENCES))]
    for between in ((), (StandardScaler(),), (StandardScaler(with_mean=False),)):
        features = gf.TextFeatures(model, strategy="sum-last-4", pooling="first")
        pipeline = make_pipeline(features, *between, LogisticRegression(max_iter=200)).fit(SENTENCES, labels)
        probe = probe_of(pipeline)
        assert probe.labels == ("0", "1")
        vectors = model.embed(list(SENTENCES), strategy="sum-last-4", pooling="first")
        assert np.abs(probe.probabilities(vectors) - pipeline.predict_proba(SENTENCES)).max() < 1e-6


def test_what_no_page_shows_is_refused(model: Model) -> None:
    labels = [n % 2 for n in range(len(SENTENCES))]
    with refused(ConfigError, got="LogisticRegression"):
        probe_of(LogisticRegression())
    both = gf.TextFeatures(model, strategy=["last", "embedding"])
    pipeline = make_pipeline(both, LogisticRegression(max_iter=200)).fit(SENTENCES, labels)
    with refused(ConfigError, got=("last.mean", "embedding.mean")):
        probe_of(pipeline)


def test_a_file_is_read_as_it_was_written_or_refused(tmp_path: Path) -> None:
    weights, bias = GENERATOR.normal(size=(3, 4)), GENERATOR.normal(size=3)
    mix = Mix((0.25, 0.75), 2.0, (0.5, 0.5))
    probe = Probe("mix", "mean", ("a", "b", "c"), weights, bias, "print", mix, {"from": "texts.tsv", "texts": 9})
    file = tmp_path / "probe.json"
    write_probe(file, probe)
    again = read_probe(file)
    assert np.array_equal(again.weights, weights)
    assert np.array_equal(again.bias, bias)
    assert (again.mix, again.labels, again.learned) == (mix, probe.labels, probe.learned)
    values = json.loads(file.read_text())
    for wrong in ({"bias": [1.0]}, {"labels": ["a", "b"]}, {"made_for": "else"}, {"weights": [[float("nan")] * 4] * 3}):
        file.write_text(json.dumps(values | wrong))
        with refused(CheckpointError, wanted=str(file), do="--probe-out"):
            read_probe(file)
    with refused(CheckpointError, wanted="none.json"):
        read_probe(tmp_path / "none.json")


def test_the_command_writes_the_best(saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "labelled.tsv"
    texts = [f"{text} {n}" for n in range(3) for text in SENTENCES]
    table.write_text("text\tlabel\n" + "".join(f"{text}\t{'ab'['dog' in text]}\n" for text in texts))
    asked = ["embed", "compare", str(saved), str(table), "--folds", "2", "-s", "last", "-p", "first"]
    assert main([*asked, "--probe-out", str(tmp_path / "probe.json"), "--json"]) == 0
    best = json.loads(capsys.readouterr().out.splitlines()[0])
    probe = read_probe(tmp_path / "probe.json")
    assert (probe.strategy, probe.pooling) == (best["strategy"], best["pooling"])
    assert probe.learned["value"] == best["accuracy"]["value"]
    assert set(probe.learned["baselines"]) == {"most frequent", "TF-IDF"}
    vectors = gf.load(saved).embed(texts, strategy=probe.strategy, pooling=probe.pooling)
    guessed = [probe.labels[number] for number in probe.probabilities(vectors).argmax(axis=1)]
    assert np.mean([one == "ab"["dog" in text] for one, text in zip(guessed, texts, strict=True)]) > 0.9
    assert main([*asked, "--per-word", "--probe-out", str(tmp_path / "words.json")]) == 2
    assert not (tmp_path / "words.json").exists()
