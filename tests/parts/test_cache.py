"""A row of a `SlotCache` holds a tree of tokens: each hypothesis is as if it had been read alone, from the start."""

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from glassformer.models.inputs import Inputs
from glassformer.models.transformer import Transformer
from glassformer.parts.cache import ROOM, Cache, SlotCache
from tests.contracts.families import Row

# The same sums in another order, in float64.
ROUNDING = 1e-12
MEMORY = 5
MODELS = {
    "learned positions": Row(
        "gpt2", "gpt2", {"width": 12, "heads": 3, "layers": 2, "vocabulary": 23, "max_length": 99}
    ),
    "rotary": Row("llama", "llama"),
    "relative bias": Row("t5", "t5"),
    "sinusoidal": Row("marian", "marian"),
}
STEPS = 4 * ROOM  # so many that the memory for columns grows


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Transformer:
    return MODELS[request.param].model()


def begun(model: Transformer, prompts: Tensor) -> tuple[Cache, Tensor | None, Tensor | None]:
    """A cache that has read the prompts [N, P], the memory [N, M, W] and its real tokens [N, M]."""
    cache, memory, real = model.new_cache(), None, None
    if model.encoder is not None:
        source = prompts[:, :1].expand(-1, MEMORY)
        real = torch.arange(MEMORY) < 2 + prompts[:, :1] % 3
        memory = model.encoder(Inputs(ids=source, real=real))
    model.output_stack(Inputs(ids=prompts), cache=cache, memory=memory, memory_real=real)
    return cache, memory, real


def alone(model: Transformer, text: Sequence[int]) -> Tensor:
    """The state of the last token of a text, read without a cache: [W]."""
    ids = torch.tensor([list(text)])
    memory, real = None, None
    if model.encoder is not None:
        _, memory, real = begun(model, ids[:, :1])
    return model.output_stack(Inputs(ids=ids), memory=memory, memory_real=real)[0, -1]


class Trees:
    """Hypotheses that grow, stop and branch by chance, three of each of four rows, and the texts they stand for."""

    def __init__(self, model: Transformer) -> None:
        self.model, self.generator = model, torch.Generator().manual_seed(2)
        self.cache = SlotCache(len(model.output_stack.blocks), 4)
        self.texts: list[list[list[int]]] = [[[0]] * 3 for _ in range(4)]
        self.look = torch.zeros(4, 3, 0, dtype=torch.bool)
        self.enter([0, 1, 2, 3], [[5, 6], [7, 8], [9, 4], [3, 3]])

    def enter(self, rows: list[int], prompts: list[list[int]]) -> None:
        """New sentences take these rows."""
        cache, _, real = begun(self.model, torch.tensor(prompts))
        self.cache.put(torch.tensor(rows), cache, torch.arange(len(rows)), real)
        columns = torch.arange(max(self.look.shape[2], len(prompts[0])))
        self.look = torch.nn.functional.pad(self.look, (0, len(columns) - self.look.shape[2]))
        for row, prompt in zip(rows, prompts, strict=True):
            self.look[row] = columns < len(prompt)
            self.texts[row] = [list(prompt)] * 3
        self.real = None if real is None else self.cache.trim_memory(torch.arange(self.cache.slots))

    def step(self) -> None:
        """Each hypothesis goes on from a random one of its row; the states of all are what they are alone."""
        rows = len(self.texts)
        parent = torch.randint(0, 3, (rows, 3), generator=self.generator)
        token = torch.randint(3, 23, (rows, 3), generator=self.generator)
        self.texts = [
            [[*texts[int(p)], int(t)] for p, t in zip(parent[row], token[row], strict=True)]
            for row, texts in enumerate(self.texts)
        ]
        look = self.look.gather(1, parent[:, :, None].expand(-1, -1, self.look.shape[2]))
        positions = torch.tensor([[len(texts[0]) - 1] for texts in self.texts])
        self.look = self.cache.place(look, positions)
        inputs = Inputs(ids=token, positions=positions.expand(-1, 3), may_look=self.look)
        states = self.model.output_stack(inputs, cache=self.cache, memory_real=self.real)
        for row, texts in enumerate(self.texts):
            for beam, text in enumerate(texts):
                torch.testing.assert_close(states[row, beam], alone(self.model, text), rtol=0, atol=ROUNDING)


def test_each_hypothesis_is_as_if_read_alone(model: Transformer) -> None:
    trees = Trees(model)
    with torch.inference_mode():
        for _ in range(5):
            trees.step()
        trees.enter([2, 0], [[11], [12]])
        for _ in range(3):
            trees.step()
        kept = torch.tensor([3, 2])
        trees.cache.keep(kept)
        trees.look, trees.texts = trees.look[kept], [trees.texts[row] for row in kept.tolist()]
        trees.real = None if trees.real is None else trees.cache.trim_memory(torch.arange(2))
        for _ in range(3):
            trees.step()


def test_a_column_is_used_again_when_no_hypothesis_goes_on_from_it() -> None:
    cache = SlotCache(1, 2)
    look = torch.zeros(2, 3, 0, dtype=torch.bool)
    for place in range(STEPS):
        look = cache.place(look, torch.full((2, 1), place))
        assert look.sum(dim=2).tolist() == [[place + 1] * 3] * 2
        needed = place + 3  # one for each token so far, two for the others' newest
        assert needed <= cache.own.width == look.shape[2] == cache.positions.shape[1] <= needed + 2 * ROOM
        look = look[:, :1].expand(-1, 3, -1)  # all go on from the first
    places, newest = cache.places(3, look.device)
    assert newest.tolist() == [[STEPS - 1] * 3] * 2
    of_first = [places[row][look[row, 0]].sort().values.tolist() for row in range(2)]
    assert of_first == [list(range(STEPS))] * 2
    assert cache.reach(3) == STEPS


def test_memory_is_little_wider_than_the_longest_sentence() -> None:
    model = MODELS["sinusoidal"].model()
    trees = Trees(model)
    lengths = [2 + first % 3 for first in (5, 7, 9, 3)]
    real = trees.cache.trim_memory(torch.tensor([1, 2]))
    assert real[1:3].sum(dim=1).tolist() == lengths[1:3]
    assert max(lengths[1:3]) <= real.shape[1] <= max(lengths[1:3]) + ROOM
    key = trees.cache.layers[0].memory.key
    assert key is not None
    assert key.shape[2] == real.shape[1]
