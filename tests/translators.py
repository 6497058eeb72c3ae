"""A tiny encoder–decoder with random weights and a vocabulary of two languages, for tests of translation."""

import torch

from glassformer.api.model import Model
from glassformer.models.families import bart, marian
from glassformer.models.transformer import build
from glassformer.tasks.writing.writers import special_ids
from glassformer.text.special import MARIAN
from glassformer.text.train import train_tokenizer
from tests.contracts.families import random_weights

ENGLISH = ("She likes the summer better than the winter.", "He loves to cook healthy food for his friends.")
FRENCH = ("Elle aime l'été plus que l'hiver.", "Il adore cuisiner pour ses amis.")


def translating(*, length: int | None = 24, double: bool = True, limited: bool = False) -> Model:
    """The same model each time; in float64, where nothing but an error makes a difference above 1e-12. `limited`: one
    that numbers at most 40 tokens.
    """
    tokenizer = train_tokenizer("bpe", [*ENGLISH, *FRENCH] * 3, vocabulary=330, lowercase=False, special=MARIAN)
    config = (bart if limited else marian)(
        layers=2, width=16, heads=2, feed_forward=24, max_length=40, vocabulary=tokenizer.vocabulary_size
    )
    module = random_weights(build(config), seed=1)
    assert module.head is not None
    assert module.head.bias is not None
    with torch.no_grad():  # parts of letters and control characters are so unlikely that what is written is text
        for id_ in range(tokenizer.vocabulary_size):
            if id_ in tokenizer.special_ids or not tokenizer.decode([id_]).strip().isalpha():
                module.head.bias[id_] -= 0 if id_ == special_ids(tokenizer).end[0] else 30
    return Model(module.double() if double else module, tokenizer, length=length)
