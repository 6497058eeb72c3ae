"""The arithmetic of docs/scale/machines.md against models that are built, and against sums done in another way."""

import pytest
import torch

from bench.masked_lm import training_operations
from glassformer.models.families import family_config
from glassformer.models.transformer import Transformer
from manual.scale import MEASURED, TRAININGS, Machine, Training, memory_rows, need

FAMILIES = {
    "BERT-base": ("bert", {"vocabulary": 30_522, "max_length": 512}),
    "encoder–decoder, 300 M": ("vaswani2017", {"vocabulary": 32_000, "width": 1024, "layers": 9, "feed_forward": 4096}),
    "decoder, 1 B": ("gpt2", {"vocabulary": 50_257, "width": 2048, "layers": 18, "heads": 16, "max_length": 2048}),
}


@pytest.mark.parametrize("training", TRAININGS, ids=lambda training: training.name)
def test_parameters_are_those_of_the_model(training: Training) -> None:
    family, settings = FAMILIES[training.name]
    with torch.device("meta"):
        model = Transformer(family_config(family, settings))
    built = sum(tensor.numel() for tensor in model.parameters())
    assert training.parameters <= built  # the formula leaves out biases, norms and positions
    assert built <= 1.02 * training.parameters


@pytest.mark.parametrize("size", ["mini", "base"])
def test_operations_are_those_that_the_bench_counts(size: str) -> None:
    """The bench counts less of the last block, where only masked words are computed: at most one block less."""
    training = MEASURED[f"bench-masked-lm-{size}"]
    masked = round(training.asked * training.rows * training.source)
    counted, ours = training_operations(size, masked), training.rows * training.operations
    assert counted < ours < counted * (1 + 1 / training.encoder)


def test_one_gpu_sends_nothing_and_twice_the_rate_halves_the_time() -> None:
    training = TRAININGS[0]
    slow, fast = (need(training, 1, Machine(rate=rate)) for rate in (100, 200))
    assert (slow.sent, slow.sending) == (0, 0)
    assert slow.days == pytest.approx(2 * fast.days)
    # 6 operations a parameter and token is the usual rule (Kaplan et al. 2020); attention and scores of fewer words
    # move it by less than a fifth.
    seconds = 6 * training.parameters * training.tokens / (100e12 * 0.3)
    assert slow.days == pytest.approx(seconds / 86_400, rel=0.2)


def test_each_process_has_a_row() -> None:
    small, large = (need(TRAININGS[0], gpus, Machine()) for gpus in (256, 512))
    assert (small.rows, large.rows) == (256, 512)


def test_rows_that_do_not_fit_are_computed_in_parts() -> None:
    large, small = (need(TRAININGS[2], 8, Machine(memory=memory)) for memory in (400, 40))
    assert large.parts == 1
    assert small.parts > 1
    assert small.memory <= 40e9 < large.memory
    with pytest.raises(ValueError, match="does not fit"):
        need(TRAININGS[2], 8, Machine(memory=18))


def test_memory_is_less_than_what_was_measured_but_more_than_three_fifths_of_it() -> None:
    """As the page says. The formula is one of a step; what was measured is the peak of a process."""
    found = list(memory_rows())
    assert len(found) >= 2
    assert [name for name, ours, peak in found if not 0.6 < ours / peak < 1.0] == []
