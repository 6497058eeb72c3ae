"""Which layers a strategy names, and what is refused."""

import pytest
import torch

from glassformer.base.errors import ConfigError
from glassformer.features.strategies import SIX, Mix, features_of, learn_mix, read_mix, resolve, write_mix
from tests.refusals import refused


@pytest.mark.parametrize(
    ("asked", "layers", "join"),
    [
        ("word", (-1,), "sum"),
        ("embedding", (0,), "sum"),
        ("last", (6,), "sum"),
        ("second-to-last", (5,), "sum"),
        ("sum-all", (1, 2, 3, 4, 5, 6), "sum"),
        ("sum-last-4", (3, 4, 5, 6), "sum"),
        ("concat-last-4", (3, 4, 5, 6), "concat"),
        ("3", (3,), "sum"),
        ("-1", (6,), "sum"),
        ("sum:1..3,5", (1, 2, 3, 5), "sum"),
        ("mean:0,6", (0, 6), "mean"),
        ("concat:-2..-1", (5, 6), "concat"),
    ],
)
def test_a_strategy_names_layers_of_the_model(asked: str, layers: tuple[int, ...], join: str) -> None:
    found = resolve(asked, 6)
    assert (found.layers, found.join, found.name) == (layers, join, asked)
    states = {layer: torch.full((1, 1, 2), float(layer)) for layer in layers}
    joined = found.joined(states)
    expected = {"sum": [sum(layers)] * 2, "mean": [sum(layers) / len(layers)] * 2}
    assert joined.flatten().tolist() == expected.get(join, [layer for layer in layers for _ in range(2)])
    assert found.width(2) == joined.shape[-1]


def test_a_strategy_that_the_model_has_no_layers_for_is_refused() -> None:
    with refused(ConfigError, wanted=("sum-last-4", "4"), got="3"):
        resolve("sum-last-4", 3)
    with refused(ConfigError, wanted=("second-to-last", "2"), got="1"):
        resolve("second-to-last", 1)
    with refused(ConfigError, wanted="6", got=("7", "sum:1,7")):
        resolve("sum:1,7", 6)
    with refused(ConfigError, wanted="6", got="-8"):
        resolve("-8", 6)
    with refused(ConfigError, got="concat:4..1"):
        resolve("concat:4..1", 6)
    with refused(ConfigError, wanted="lst", do="last"):
        resolve("lst", 6)
    with refused(ConfigError, wanted="maen", do="mean"):
        features_of(["last"], ["maen"], 6)
    with refused(ConfigError, got="2"):
        resolve(Mix((0.5, 0.5)), 6)
    assert [feature.name for feature in features_of([*SIX, "last"], ["max", "first"], 6)][:3] == [
        "embedding.first",
        "embedding.max",
        "last.first",
    ]


def test_a_mix_is_learned_where_the_labels_are_and_read_again(tmp_path: object) -> None:
    from pathlib import Path

    folder = Path(str(tmp_path))
    generator = torch.Generator().manual_seed(0)
    labels = torch.randint(0, 3, (300,), generator=generator)
    layers = torch.randn(300, 4, 8, generator=generator) * torch.tensor([1.0, 10.0, 0.1, 1.0])[:, None]
    layers[:, 2, :3] += torch.nn.functional.one_hot(labels, 3) * 0.3  # only here, though its numbers are the smallest
    mix = learn_mix(layers, labels)
    assert max(range(4), key=mix.shares.__getitem__) == 2
    assert mix.shares[2] > 0.6
    assert sum(mix.weights) == pytest.approx(1)
    write_mix(folder / "mix.json", mix)
    assert read_mix(folder / "mix.json") == mix
    (folder / "mix.json").write_text('{"weights": [1]}')
    with refused(ConfigError, wanted=str(folder / "mix.json")):
        read_mix(folder / "mix.json")
    with refused(ConfigError, got="0.5, 0.1"):
        Mix((0.5, 0.1))
