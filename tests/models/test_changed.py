"""Single settings changed in what a family makes: the model is verified as any other, and nothing is silently lost."""

from typing import Any

import pytest

from glassformer.api.model import Model
from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig, changed
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.text.train import train_tokenizer

CHANGES: dict[str, dict[str, Any]] = {
    "no residual": {"blocks": {"self_attention": {"residual": False}}},
    "no norm": {"blocks": {"feed_forward": {"norm": "none", "norm_at": "none"}}},
    "no feed-forward": {"blocks": {"feed_forward": "none"}},
    "no positions": {"embed": {"position": {"kind": "none"}}},
    "forward only": {"causal": True},
}


def small(vocabulary: int = 10) -> ModelConfig:
    return bert(size="tiny", layers=2, width=8, heads=2, feed_forward=8, vocabulary=vocabulary)


@pytest.mark.parametrize("change", CHANGES.values(), ids=list(CHANGES))
def test_a_changed_model_is_verified_and_not_exported_as_another(change: dict[str, Any], tmp_path: Any) -> None:
    tokenizer = train_tokenizer("words", ["some words of a text that goes on"], vocabulary=20)
    config = changed(small(tokenizer.vocabulary_size), {"encoder": change})
    assert config.encoder is not None
    assert len({block.model_dump_json() for block in config.encoder.blocks}) == 1  # changed in each block
    model = Model(build(config), tokenizer, length=16)
    assert model.trace("some [MASK] of a text").verify().holds
    with pytest.raises(ConfigError):
        model.export(tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


def test_nothing_changed_is_the_same() -> None:
    assert changed(small(), {}) == small()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"encoder": {"blok": 1}}, "blocks"),
        ({"encoder": {"blocks": {"self_attention": 5}}}, "self_attention"),
        ({"decoder": {"causal": True}}, "decoder"),
    ],
)
def test_an_impossible_change_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        changed(small(), change)
