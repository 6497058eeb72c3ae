"""Graphs in onnxruntime give what the model gives in float64, whatever the number of texts and tokens, and padding."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from glassformer.base.errors import ConfigError
from glassformer.config.parts import DynamicStretch
from glassformer.convert.onnx.heads import head_of
from glassformer.convert.onnx.network import Network, inputs_of, write_graph
from glassformer.convert.onnx.session import OnnxTransformer, Session
from glassformer.models.inputs import Inputs
from tests.contracts.families import FAMILIES, OPTIONS, TINY, Row
from tests.refusals import refused

MASK = 4
STRETCHED = Row(
    "windows",
    "modernbert",
    {
        "sentence_labels": 3,
        "vocabulary_head": False,
        "layers": 2,
        "local_stretch": DynamicStretch(factor=3.0, original_length=4),
    },
)
ENCODERS = [row for row in (*FAMILIES, *OPTIONS) if row.config().decoder is None]


def check(row: Row, path: Path, *, features: bool = False) -> None:
    model = row.model()
    head = head_of(model.config, only_features=features)
    write_graph(path, Network(row.model(dtype=torch.float32), head, mask_id=MASK))
    session = Session(path)
    assert session.inputs == inputs_of(model.config)
    assert session.outputs == tuple(answer.name for answer in head.answers)
    drawn = torch.Generator().manual_seed(1)
    for rows, tokens in ((1, 1), (3, 13), (4, 6)):
        ids = torch.randint(model.config.output_stack.embed.vocabulary, (rows, tokens), generator=drawn)
        sizes = torch.randint(1, tokens + 1, (rows, 1), generator=drawn)
        real = torch.arange(tokens) < sizes  # [B, S]
        real[-1] = real[-1].flip(0)  # padding on the left
        segments = (ids > 9).long() if len(session.inputs) == 3 else None
        inputs = Inputs(ids=ids, real=real, segments=segments)
        with torch.no_grad():
            output = model(replace(inputs, masked_words=ids == MASK), heads=head.heads)
        found = session.run(inputs)
        for answer in head.answers:
            # Float32 of numbers up to 10, in sums of 20 terms.
            wanted = answer.of(output, inputs)
            torch.testing.assert_close(found[answer.name].double(), wanted, rtol=1e-5, atol=2e-5)


@pytest.mark.long
def test_masked_words_that_nobody_may_look_at(tmp_path: Path) -> None:
    """The slides' explicit formula; the graph finds masked words by their token."""
    check(Row("slides", "slides"), tmp_path / "model.onnx")


@pytest.mark.long
@pytest.mark.parametrize("row", [*ENCODERS, STRETCHED], ids=str)
def test_every_encoder_and_every_option(row: Row, tmp_path: Path) -> None:
    check(row, tmp_path / "model.onnx")
    check(row, tmp_path / "features.onnx", features=True)


def test_weights_above_the_limit_of_a_message_are_next_to_the_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whoever asks the model may ask the graph: both heads of one run, at scored tokens alone."""
    monkeypatch.setattr("glassformer.convert.onnx.network.LARGEST_MESSAGE", 1000)
    row, path = Row("two heads", "bert", {"sentence_labels": 2, "layers": 1}), tmp_path / "model.onnx"
    check(row, path)
    assert (tmp_path / "model.onnx_data").stat().st_size > 1000  # those of at least 1 KiB each
    model = row.model(dtype=torch.float32)
    standing_in = OnnxTransformer(model, Session(path), head_of(model.config, only_features=False))
    inputs, scored = Inputs(ids=torch.tensor([[3, 4, 5, 6]])), torch.tensor([2, 1])
    with torch.no_grad():
        both = [each(inputs, scored_at=scored) for each in (model, standing_in)]
    torch.testing.assert_close(both[0].logits, both[1].logits, rtol=1e-5, atol=2e-5)
    torch.testing.assert_close(both[0].sentence_logits, both[1].sentence_logits, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("family", ["gpt2", "t5"])
def test_only_encoders_are_exported(family: str) -> None:
    with refused(ConfigError, got=family, do="huggingface"):
        head_of(Row(family, family, {}).config(), only_features=family == "t5")
    assert TINY[family]
