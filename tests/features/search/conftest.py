"""A small encoder, which reads sixteen tokens at once."""

from collections.abc import Callable

import pytest
from torch import nn

from glassformer.api.model import Model
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.text.train import train_tokenizer
from tests.contracts.tasks import SENTENCES


@pytest.fixture
def model(shake: Callable[[nn.Module], None]) -> Model:
    tokenizer = train_tokenizer("wordpiece", SENTENCES * 3, vocabulary=160)
    module = build(bert(size="tiny", layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=24))
    shake(module)
    return Model(module, tokenizer, length=16)
