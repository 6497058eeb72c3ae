"""What a page shows of vectors, of a regression on them, of an index, and of the model before: held to numpy."""

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import glassformer as gf
from glassformer.api.model import Model
from glassformer.api.trace import trace
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.config import SentenceHeadConfig
from glassformer.features.probe import Probe
from glassformer.features.search.index import SearchIndex
from glassformer.features.strategies import SIX, Mix, resolve
from glassformer.features.vectors import stack_of
from glassformer.look.trace.tensors import layers_of
from glassformer.page.sections.moved import ADAPTERS, moved_section, read_adapters
from glassformer.page.sections.related import MOVED, NEIGHBOURS, PROBE, neighbours_section, related_makers
from glassformer.page.sections.vectors import strategy_record, vectors_record
from glassformer.page.server.asked import Asked
from glassformer.page.server.desk import Desk
from glassformer.page.server.offers import Models, Offer
from glassformer.run.first_weights import adapt
from tests.look.rows import ALL
from tests.page.serving import TEXTS, served, small_model
from tests.refusals import refused

TEXT = "She likes the summer better than the winter."
FEW = [f"{word} likes the {season}." for word in ("She", "He") for season in ("summer", "winter", "food")]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Model:
    return gf.load(small_model(tmp_path_factory.mktemp("related"), layers=4))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("row", ALL, ids=lambda row: row.name)
def test_the_layers_of_a_run_are_those_that_features_are_made_of(row: Any) -> None:
    module = row.model(dtype=torch.float64)
    inputs, decoder_inputs = row.batch(padding="none")
    found = trace(module, inputs, decoder_inputs)
    names = layers_of(found)
    with torch.no_grad():
        expected = list(stack_of(module.eval()).layers(inputs))
    assert len(names) == len(expected)
    for name, states in zip(names, expected, strict=True):
        assert torch.allclose(found[name].expand_as(states), states, atol=1e-12, rtol=0), name


def joined(record: dict[str, Any], layers: list[np.ndarray[Any, Any]]) -> np.ndarray[Any, Any]:
    """What the page does with a strategy, in numpy: layers [S, W], the words alone last."""
    chosen = [layers[number] * share for number, share in record["layers"]]
    return np.concatenate(chosen, axis=-1) if record["concat"] else np.sum(chosen, axis=0)


@pytest.mark.parametrize("asked", [*SIX, "word", "mean:1..3", Mix((0.1, 0.2, 0.3, 0.2, 0.2), 1.5)], ids=str)
def test_a_strategy_is_sent_as_the_layers_it_adds_up(model: Model, asked: str | Mix) -> None:
    found = model.trace(TEXT)
    stated = vectors_record(found)
    layers = [found[name][0].double().numpy() for name in [*stated["layers"], stated["word"]]]
    own = joined(strategy_record(resolve(asked, 4)), layers)
    assert isinstance(asked, Mix) or stated["strategies"].get(asked) in (None, strategy_record(resolve(asked, 4)))
    expected = model.embed(TEXT, strategy=asked, pooling="mean")
    assert np.abs(own.mean(axis=0) - expected).max() < 1e-5
    json.dumps(stated)


def test_a_model_with_few_blocks_has_few_strategies(tmp_path: Path) -> None:
    found = gf.load(small_model(tmp_path, layers=2)).trace(TEXT)
    assert set(vectors_record(found)["strategies"]) == {"embedding", "last", "second-to-last", "sum-all"}


@pytest.mark.parametrize(("strategy", "pooling"), [("last", "mean"), ("sum-last-4", "max"), ("2", "first")])
def test_the_neighbours_are_those_of_the_index(model: Model, tmp_path: Path, strategy: str, pooling: str) -> None:
    index = SearchIndex.build(tmp_path / "index", FEW, model, strategy=strategy, pooling=pooling)
    texts = [TEXT, "He eats."]  # of unequal length: padding is no part of a vector
    record = json.loads(json.dumps(neighbours_section(model.trace(texts), index)))
    assert record["texts"] == len(FEW) == len(record["near"])
    for text in texts:
        question = model.embed(text, strategy=strategy, pooling=pooling).astype(np.float64)
        question /= np.linalg.norm(question)
        scores = {near["row"]: float(np.dot(near["vector"], question)) for near in record["near"]}
        for hit in index.ask(text, top=3, by="vectors"):
            assert scores[hit.row] == pytest.approx(hit.score, abs=2e-6)
            assert next(near["text"] for near in record["near"] if near["row"] == hit.row) == hit.text
    for near in record["near"]:
        assert np.array_equal(np.array(near["vector"], np.float32), index.vector(near["row"]))


def test_what_moved_is_counted_number_by_number(model: Model) -> None:
    config = model.config.model_copy(
        update={"sentence_head": SentenceHeadConfig(labels=3, pooling="mean", dropout=0.0), "head": None}
    )
    tuned, _ = adapt(copy.deepcopy(model.module), config, seed=1, same_labels=False)
    name = "encoder.blocks.3.feed_forward.body.output.weight"
    before = dict(model.module.named_parameters())[name].detach().double()
    with torch.no_grad():
        weight = dict(tuned.named_parameters())[name]
        weight[1] *= 1.25
        weight[0, 2] += 3
    stated = {part.pop("part"): part for part in moved_section(tuned, model, ["encoder.embed.*"])["parts"]}
    part = stated["encoder.blocks.3"]
    difference = weight.detach().double() - before
    own = [each for each_name, each in model.module.named_parameters() if each_name.startswith("encoder.blocks.3.")]
    size = sum(float(each.detach().double().square().sum()) for each in own) ** 0.5
    assert part["moved"] == int((difference != 0).sum())
    assert part["numbers"] == sum(each.numel() for each in own)
    assert part["change"] == pytest.approx(float(difference.norm()) / size, rel=1e-12)
    assert part["largest"]["name"] == "parameters.encoder.blocks.3.feed_forward.output.weight"
    assert part["largest"]["cell"] == [0, 2]
    assert part["largest"]["after"] - part["largest"]["before"] == pytest.approx(3, abs=1e-6)
    assert stated["encoder.blocks.0"]["moved"] == 0 == stated["encoder.blocks.0"]["change"]
    assert tuned.sentence_head is not None
    assert stated["sentence_head"]["new"] == sum(each.numel() for each in tuned.sentence_head.parameters())
    assert stated["head"]["gone"] > 0
    assert stated["head"]["numbers"] == 0


def test_what_an_adapter_added_is_sent_as_its_products(model: Model, tmp_path: Path) -> None:
    tuned = copy.deepcopy(model.module)
    layer = "encoder.blocks.2.self_attention.body.query"
    weight = dict(tuned.named_parameters())[f"{layer}.weight"]
    generator = torch.Generator().manual_seed(2)
    up, down = (torch.randn(shape, generator=generator) for shape in ((weight.shape[0], 3), (3, weight.shape[1])))
    with torch.no_grad():
        weight.add_(4 / 3 * up @ down)
    facts = {"rank": "3", "alpha": "4", "adds": "alpha / rank * up @ down"}
    save_file({f"{layer}.up": up, f"{layer}.down": down}, tmp_path / ADAPTERS, metadata=facts)
    stated = {part["part"]: part for part in moved_section(tuned, model, (), read_adapters(tmp_path))["parts"]}
    largest = stated["encoder.blocks.2"]["largest"]
    assert stated["encoder.blocks.2"]["adapted"] == ["encoder.blocks.2.self_attention.query"]
    added = largest["added"]["scale"] * np.dot(largest["added"]["up"], largest["added"]["down"])
    assert largest["after"] - largest["before"] == pytest.approx(added, rel=1e-5)
    assert all(part["adapted"] == [] for name, part in stated.items() if name != "encoder.blocks.2")
    assert read_adapters(tmp_path / "none") == {}
    (tmp_path / ADAPTERS).write_bytes(b"no tensors")
    with refused(CheckpointError, wanted=ADAPTERS):
        read_adapters(tmp_path)


def test_what_belongs_to_another_model_is_refused(model: Model, tmp_path: Path) -> None:
    other = gf.load(small_model(tmp_path, layers=2))
    index = SearchIndex.build(tmp_path / "index", FEW, other)
    with refused(CheckpointError, do="glassformer search build"):
        related_makers(model.module, index=index)
    probe = Probe("last", "first", ("a", "b"), np.zeros((1, 3)), np.zeros(1))
    with refused(CheckpointError, wanted=str(model.config.encoder.width), got="3"):  # type: ignore[union-attr]
        related_makers(model.module, probe=probe)
    with refused(CheckpointError, do="--probe-out"):
        related_makers(model.module, probe=Probe("last", "first", ("a", "b"), np.zeros((1, 3)), np.zeros(1), "another"))
    with pytest.raises(ConfigError):
        related_makers(None, index=index)
    assert related_makers(None) == {}


@pytest.mark.long
def test_a_server_sends_them_for_each_of_its_runs(model: Model, tmp_path: Path) -> None:
    index = SearchIndex.build(tmp_path / "index", FEW, model)
    width = model.config.encoder.width  # type: ignore[union-attr]
    probe = Probe("last", "first", ("a", "b"), np.ones((1, width)), np.zeros(1))
    makers = related_makers(model.module, probe=probe, index=index, start=model)
    offer = Offer("small", "nowhere", (TEXT,), makers=makers, model=model)
    with served(Desk(Models([offer], device="cpu")), Asked(model="small", texts=(TEXT,))) as page:
        run = page.overview("small", (TEXTS[1],))
        assert {PROBE, NEIGHBOURS, MOVED} <= set(run["sections"])
        found = page.get(f"api/runs/{run['run']}/section", name=NEIGHBOURS).json()
        assert {near["row"] for near in found["near"]} == set(range(len(FEW)))
        assert page.get(f"api/runs/{run['run']}/section", name=PROBE).json()["weights"] == [[1.0] * width]
        parts = page.get(f"api/runs/{run['run']}/section", name=MOVED).json()["parts"]
        assert all(part["moved"] == 0 for part in parts)
        whole = page.get(f"api/runs/{run['run']}/page").text
        assert all(f'id="section-{name}"' in whole for name in makers)
