"""Learning in the page against torch in double precision: gradients, Adam's steps, the formulas of each exercise."""

from __future__ import annotations

import base64
import gzip
import json
import math
import random
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from glassformer import load
from glassformer.api.trace import trace
from glassformer.bundled.texts import slides as slides_document
from glassformer.bundled.texts import slides_model
from glassformer.models.families import slides
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer, build
from glassformer.page.page import page
from glassformer.scoring.cross_entropy import cross_entropy
from glassformer.training.settings import TrainSection

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="the page's interpreter runs in node, which is not installed")

SCRIPT = Path(__file__).with_name("learn.mjs")
RATE = 0.005
# Sums of some hundred products in double precision, added in another order than torch does: about 1e-15 of scale.
GRADIENT = 1e-12
# Where a word is almost certain, 1 − its probability is rounded to 1e-16 and multiplied with numbers of about 10: the
# gradients become smaller, what is rounded does not.
LEAST = 0.01
# Adam divides by the root of the squares: what was rounded in small gradients grows with the steps.
WEIGHTS = 1e-9

SENTENCES = [list(sentence.words) for sentence in slides_document().sentences]
HIDDEN = [list(sentence.masked_words) for sentence in slides_document().sentences]
# Words that the model does not know, sentences of unequal length.
OWN = [["She", "likes", "green", "tea"], ["He", "loves", "to", "cook", "quite", "often"], ["tea", "better"]]
OWN_HIDDEN = [[1, 2], [3], [0]]
EXERCISES: Mapping[str, Mapping[str, Any]] = {
    "slides": {},
    "nothing-hidden": {},
    "no-positions": {"positions": "none"},
    "one-head": {"heads": 1, "query_size": 8, "value_size": 8},
    "zero-after": {"zero": "sum"},
}


SMALL = {"width": 16, "query_size": 8, "value_size": 8, "feed_forward": 64}
NORMED = {"norm": True, "feed_forward_residual": True}
WRITERS: Mapping[str, Mapping[str, Any]] = {
    "letters": SMALL,
    "letters-norms": {**SMALL, **NORMED, "layers": 2},
    "letters-large": {"width": 64, "query_size": 32, "value_size": 32, "feed_forward": 240, **NORMED, "layers": 4},
}


def record_of(html: str) -> dict[str, Any]:
    """What a page knows of its run besides its numbers."""
    found = re.search(r'<script type="application/gzip" id="record">([^<]*)</script>', html)
    assert found is not None
    record: dict[str, Any] = json.loads(gzip.decompress(base64.b64decode(found[1])))
    return record


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    """That of the page of the slides' model on its own sentences."""
    return record_of(page(load(slides_model()).trace([sentence.masked for sentence in slides_document().sentences])))


class Torch:
    """The same training by torch: the package's model of this exercise, its loss, AdamW and the clip of the recipe."""

    def __init__(
        self, exercise: str, sentences: list[list[str]], hidden: list[list[int]], vocabulary: list[str], seed: int
    ) -> None:
        words = [*vocabulary, *dict.fromkeys(word for row in sentences for word in row if word not in vocabulary)]
        width = max(map(len, sentences))
        ids = torch.tensor([[words.index(word) for word in row] + [0] * (width - len(row)) for row in sentences])
        masked = torch.tensor([[token in places for token in range(width)] for places in hidden])
        seen = exercise == "nothing-hidden"
        real = torch.tensor([[token < len(row) for token in range(width)] for row in sentences])
        self.labels = ids[masked]
        self.scored_at = masked.flatten().nonzero()[:, 0]
        self.inputs = Inputs(
            ids=ids if seen else ids.masked_fill(masked, 0),
            masked_words=torch.zeros_like(masked) if seen else masked,
            real=None if bool(real.all()) else real,
        )
        self.model: Transformer = build(slides(vocabulary=len(words), **EXERCISES[exercise]), seed=seed).double()

    @classmethod
    def of_letters(cls, lines: list[list[str]], seed: int, size: Mapping[str, Any]) -> Torch:
        """A second model: nothing is hidden and nobody looks ahead."""
        self = cls("slides", SENTENCES, HIDDEN, [], seed)
        letters = ["", *sorted({letter for line in lines for letter in line})]
        width = 1 + max(map(len, lines))
        ids = torch.tensor([[0, *map(letters.index, line), *[0] * (width - 1 - len(line))] for line in lines])
        after = torch.cat([ids[:, 1:], torch.zeros_like(ids[:, :1])], dim=1)
        real = torch.tensor([[token <= len(line) for token in range(width)] for line in lines])
        self.scored_at, self.labels = real.flatten().nonzero()[:, 0], after[real]
        self.inputs = Inputs(ids=ids, real=None if bool(real.all()) else real)
        config = slides(vocabulary=len(letters), heads=2, hide=False, **size)
        assert config.encoder is not None
        causal = config.encoder.model_copy(update={"causal": True})
        self.model = build(config.model_copy(update={"encoder": causal}), seed=seed).double()
        return self

    @property
    def parameters(self) -> dict[str, torch.nn.Parameter]:
        """By the names that the formulas have for them."""
        return {f"parameters.{name.replace('.body', '')}": each for name, each in self.model.named_parameters()}

    @property
    def weights(self) -> dict[str, list[Any]]:
        return {name: each.tolist() for name, each in self.parameters.items()}

    def loss(self) -> Tensor:
        logits = self.model(self.inputs, scored_at=self.scored_at).logits
        assert logits is not None
        return cross_entropy(logits, self.labels) / len(self.labels)

    def gradients(self) -> dict[str, Tensor]:
        found = torch.autograd.grad(self.loss(), list(self.parameters.values()))
        return dict(zip(self.parameters, found, strict=True))

    def train(self, steps: int, at: set[int]) -> dict[int, tuple[float, dict[str, list[Any]], dict[str, Tensor]]]:
        """Trains, and gives the loss, the weights and the gradients before some of the steps."""
        settings = TrainSection(decay=0.0)
        parameters = list(self.model.parameters())
        optimizer = torch.optim.AdamW(
            parameters,
            lr=RATE,
            betas=(settings.beta1, settings.beta2),
            eps=settings.epsilon,
            weight_decay=settings.decay,
        )
        found = {}
        for step in range(steps):
            if step in at:
                found[step] = (float(self.loss().detach()), self.weights, self.gradients())
            optimizer.zero_grad()
            self.loss().backward()
            torch.nn.utils.clip_grad_norm_(parameters, settings.clip or math.inf)
            optimizer.step()
        return found


def in_page(folder: Path, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What node makes of it."""
    file = folder / "asked.json"
    file.write_text(json.dumps(asked))
    assert NODE is not None
    done = subprocess.run([NODE, str(SCRIPT), str(file)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def apart(one: list[float], other: Any) -> float:
    """The largest difference."""
    flat = torch.as_tensor(other, dtype=torch.float64).flatten()
    return float((torch.tensor(one, dtype=torch.float64) - flat).abs().max())


LONG = pytest.mark.long
CASES = [
    pytest.param("slides", SENTENCES, HIDDEN, 0, 500, id="slides-0"),
    pytest.param("slides", SENTENCES, HIDDEN, 1, 500, id="slides-1", marks=LONG),
    pytest.param("slides", SENTENCES, HIDDEN, 2, 500, id="slides-2", marks=LONG),
    *[pytest.param(each, SENTENCES, HIDDEN, 3, 40, id=each) for each in EXERCISES if each != "slides"],
    pytest.param("slides", OWN, OWN_HIDDEN, 4, 40, id="own-slides"),
    pytest.param("letters", [list("monday"), list("sunday"), list("friday")], [], 6, 30, id="letters-even"),
    pytest.param("letters", [list(day) for day in ("monday", "tuesday", "wednesday")], [], 7, 30, id="letters"),
    pytest.param("letters-norms", [list(day) for day in ("monday", "tuesday", "friday")], [], 8, 20, id="norms"),
    pytest.param("letters-large", [list("monday"), list("friday!")], [], 9, 20, id="large", marks=LONG),
    *[
        pytest.param(each, OWN, OWN_HIDDEN, 5, 40, id=f"own-{each}", marks=LONG)
        for each in EXERCISES
        if each != "slides"
    ],
]


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("exercise", "sentences", "hidden", "seed", "steps"), CASES)
def test_equals_torch(
    exercise: str,
    sentences: list[list[str]],
    hidden: list[list[int]],
    seed: int,
    steps: int,
    record: dict[str, Any],
    tmp_path: Path,
) -> None:
    """At 20 random steps the gradients, after the last one the weights; the formulas are those of the package."""
    vocabulary: list[str] = record["words"]["vocabulary"]
    letters = exercise in WRITERS
    reference = (
        Torch.of_letters(sentences, seed, WRITERS[exercise])
        if letters
        else Torch(exercise, sentences, hidden, vocabulary, seed)
    )
    formulas = record_of(page(trace(reference.model, reference.inputs, scored_at=reference.scored_at)))["formulas"]
    first = reference.weights
    expected = reference.train(steps, set(random.Random(seed).sample(range(steps), 20)))
    choice = {"sentences": sentences, "hidden": hidden, "exercise": exercise}
    at = {step: weights for step, (_, weights, _) in expected.items()}
    asked = {"record": record, "choice": choice, "first": first, "rate": RATE, "steps": steps, "at": at}
    found = in_page(tmp_path, asked)

    by_name = {each["name"]: (each["axes"], each["rule"]) for each in found["formulas"]}
    assert by_name == {each["name"]: (each["axes"], each["rule"]) for each in formulas}
    for step, (loss, _, gradients) in expected.items():
        here = found["gradients"][str(step)]
        assert abs(here["loss"] - loss) <= 1e-14 * (1 + abs(loss))
        scale = max(LEAST, *(float(each.abs().max()) for each in gradients.values()))
        for name, each in gradients.items():
            assert apart(here["weights"][name], each) <= GRADIENT * scale, (step, name)
    moved = 0.0
    for name, weights in reference.weights.items():
        assert apart(found["weights"][name], weights) <= WEIGHTS, name
        moved = max(moved, apart(torch.tensor(first[name]).flatten().tolist(), weights))
    # Equal weights would say nothing if none had moved.
    assert moved > 0.05
    assert found["same"]
    assert found["terms"] <= 1e-13
    # Differences over 2e-5 in double precision are right to about ten digits.
    assert found["differences"]["difference"] <= 1e-7
    words = dict.fromkeys(word for row in sentences for word in row)
    assert found["added"] == ([] if letters else [word for word in words if word not in vocabulary])
