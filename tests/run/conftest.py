"""A small trained-looking model for every test of this package: random weights, a real tokenizer."""

from collections.abc import Callable
from pathlib import Path

import pytest
from torch import nn

from glassformer.api.model import Model
from glassformer.api.train import train
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.contracts.tasks import SENTENCES
from tests.run.runs import Listener, recipe


def prose(documents: int = 60) -> str:
    """Different documents made of the sentences above, parted by blank lines."""
    return "\n\n".join(
        f"Story {number} begins. {SENTENCES[number % 5]} {SENTENCES[(number * 7 + 2) % 5]} It ends after {number} days."
        for number in range(documents)
    )


@pytest.fixture(scope="session")
def sentences() -> tuple[str, ...]:
    return SENTENCES


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train_tokenizer("wordpiece", SENTENCES * 3, vocabulary=160)


@pytest.fixture
def model(tokenizer: Tokenizer, shake: Callable[[nn.Module], None]) -> Model:
    module = build(bert(size="tiny", layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=24))
    shake(module)
    return Model(module, tokenizer, task=MaskedLMSection(), length=16)


@pytest.fixture
def text_file(tmp_path: Path) -> Path:
    path = tmp_path / "prose.txt"
    path.write_text(prose(), encoding="utf-8")
    return path


@pytest.fixture
def run(text_file: Path, tmp_path: Path) -> Model:
    return train(recipe(text_file), out=tmp_path / "run", progress=Listener())


@pytest.fixture
def saved(model: Model, tmp_path: Path) -> Path:
    return model.save(tmp_path / "saved")
