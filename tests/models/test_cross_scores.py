"""The scores of the decoder's last cross-attention, as the output has them.

B sentences · H heads · S tokens of the target · K tokens of the source
"""

import pytest
import torch

from glassformer.base.errors import ShapeError
from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.models.weights import cross_weights
from glassformer.parts.cache import Cache
from tests.refusals import refused
from tests.translators import translating
from tests.writers import writing


@pytest.fixture
def module() -> Transformer:
    return translating().module


def some(module: Transformer) -> tuple[Inputs, Inputs]:
    numbers = torch.Generator().manual_seed(0)
    sizes = (2, 7), (2, 4)
    source, target = (torch.randint(len(module.word_table), size, generator=numbers) for size in sizes)
    return Inputs(ids=source), Inputs(ids=target)


@torch.inference_mode()
def test_their_softmax_are_the_weights(module: Transformer) -> None:
    source, target = some(module)
    last = len(module.output_stack.blocks) - 1
    with cross_weights(module.output_stack, (last,)) as seen:
        found = module(source, target, cross_scores=True).cross_scores  # [B, H, S, K]
    assert found is not None
    torch.testing.assert_close(found.softmax(dim=-1).mean(dim=1), seen.mean())
    assert module(source, target).cross_scores is None


@torch.inference_mode()
def test_a_cache_changes_nothing(module: Transformer) -> None:
    source, target = some(module)
    assert target.ids is not None
    whole = module(source, target, cross_scores=True).cross_scores
    cache, memory = Cache(len(module.output_stack.blocks)), None
    steps = []
    for place in range(target.ids.shape[1]):
        step = Inputs(ids=target.ids[:, place : place + 1])
        output = module(source, step, memory=memory, cache=cache, cross_scores=True)
        memory = output.memory
        steps.append(output.cross_scores)
    torch.testing.assert_close(torch.cat(steps, dim=2), whole)


def test_a_model_that_looks_at_no_encoder_is_refused() -> None:
    module = writing().module
    with refused(ShapeError, got="gpt2"):
        module(Inputs(ids=torch.ones(1, 3, dtype=torch.int64)), cross_scores=True)
