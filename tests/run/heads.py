"""Small models for labels with random weights, as each task makes its head, without training."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from glassformer.api.model import Model
from glassformer.models.families import FAMILIES
from glassformer.models.transformer import Transformer
from glassformer.tasks import task_named
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.contracts.families import random_weights

TEXTS = ("Alice went to Berlin on a cold day in May.", "Bob likes Paris better than Rome, he says.")
TAGS = ("O", "B-LOC", "I-LOC", "B-PER")
SIZES = {"layers": 1, "width": 12, "heads": 3, "feed_forward": 20}


def small_tokenizer() -> Tokenizer:
    """A tokenizer of a few words."""
    return train_tokenizer("wordpiece", list(TEXTS) * 5, vocabulary=120, lowercase=True)


def model_for(task: str, settings: dict[str, Any], family: str = "bert", **more: Any) -> Model:
    """A model for a task whose section has these settings; `more` are settings of its family."""
    tokenizer, kind = small_tokenizer(), task_named(task)
    section = kind.Section.model_validate({"name": task, **settings})
    length = {} if family == "modernbert" else {"max_length": 64}
    body = FAMILIES[family](
        **{**SIZES, **length, **more}, vocabulary=tokenizer.vocabulary_size, vocabulary_head=False
    )  # as `train` has it before the task adds its head
    made: Any = kind.__new__(kind)  # a task's head follows from its section alone
    made.section = section
    made._numbers = {label: number for number, label in enumerate(getattr(section, "labels", ()))}
    module = random_weights(Transformer(made.model(body)), seed=3).float()
    return Model(module, tokenizer, task=section)


def spread_of(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The deviations by which a linear probe divides vectors [R, F]: [F], none below the median, torch's lower one."""
    spread = vectors.std(axis=0)
    return np.maximum(spread, np.sort(spread)[(len(spread) - 1) // 2])
