"""`TextFeatures`: texts to vectors, as a transformer of scikit-learn."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from glassformer.api.estimators.given import labels_of, texts_of
from glassformer.api.estimators.tuning import load_estimator, save_estimator
from glassformer.api.load import load
from glassformer.api.model import Model
from glassformer.base.errors import ConfigError, DataError
from glassformer.features.embed import embed, vectors_of
from glassformer.features.strategies import ENDS, Mix, learn_mix, listed
from glassformer.features.vectors import VectorsOf, blocks_of
from glassformer.models.transformer import fingerprint


@dataclass(eq=False, repr=False)
class TextFeatures(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn bears no types
    """Texts [N] to vectors [N, F]: hidden states of an unchanged model.

    Parameters: `model`, a folder, a bundled name, or a `Model`; `strategy` and `pooling`, one or several, whose vectors
    are concatenated (docs/do/features.md), by default the mean of the tokens' embeddings and the mean of their last
    vectors; `fast`, whether to compute in bfloat16 where the machine has it (`model_.fast_told` says what that
    changes); `device`. The strategy "mix" learns the weights of the layers in `fit`, from the labels `y`. The numbers
    are those of the model: before a regression, standardize them and search its C (docs/do/scikit-learn.md).

    Attributes after `fit`: `model_`, `mix_` (None without "mix"), `n_features_out_`.
    """

    model: str | Path | Model = "english"
    _: KW_ONLY
    strategy: str | Mix | Sequence[str | Mix] = ENDS
    pooling: str | Sequence[str] = "mean"
    fast: bool = False
    device: str | None = None

    def fit(self, X: object, y: object = None) -> Self:
        """Open the model, and learn a mix if it is the strategy.

        Raises DataError for anything but texts, ConfigError for a strategy that the model has no layers for.
        """
        texts = texts_of(X)
        self.model_ = self.model if isinstance(self.model, Model) else load(self.model, self.device, fast=self.fast)
        self.mix_ = self._learned_mix(texts, y) if "mix" in listed(self.strategy) else None
        self.n_features_out_ = sum(self._maker().widths)
        return self

    def transform(self, X: object) -> npt.NDArray[np.float32]:
        """The vectors of texts, [N, F]. Raises DataError for anything but texts."""
        check_is_fitted(self)
        texts = texts_of(X)
        maker = self._maker()
        found = np.zeros((len(texts), self.n_features_out_), np.float32)
        made = embed(self.model_, maker, (({"text": text}, "") for text in texts), fast=self.fast or None)
        for row, each in zip(found, made, strict=True):
            row[:] = np.concatenate([each.vectors[feature.name] for feature in maker.features])
        return found

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """`last.mean.0`, `last.mean.1` …: strategy, pooling, and the number of the channel."""
        check_is_fitted(self)
        maker = self._maker()
        names = [
            f"{feature.name}.{channel}"
            for feature, width in zip(maker.features, maker.widths, strict=True)
            for channel in range(width)
        ]
        return np.array(names, dtype=object)

    def save(self, directory: str | Path) -> Path:
        """Write the model and the parameters to a folder, without pickle; `TextFeatures.load` and `gf.load` read it."""
        check_is_fitted(self)
        if any(isinstance(each, Mix) for each in listed(self.strategy)):
            raise ConfigError("a mix that was given is not saved", got="a Mix", do="write it to a file: mix:FILE")
        given = {"strategy": self.strategy, "pooling": self.pooling, "fast": self.fast}
        learned = {"mix": None if self.mix_ is None else vars(self.mix_)}
        return save_estimator(directory, type(self).__name__, self.model_, given, learned)

    @classmethod
    def load(cls, directory: str | Path, *, device: str | None = None) -> Self:
        """A fitted one from its folder; raises CheckpointError for another folder."""
        model, given, learned = load_estimator(directory, cls.__name__, device)
        found = cls(str(directory), **given, device=device)
        model._fast = found.fast
        mix = learned["mix"]
        found.model_ = model
        found.mix_ = None if mix is None else Mix(tuple(mix["weights"]), mix["scale"], tuple(mix["shares"]))
        found.n_features_out_ = sum(found._maker().widths)
        return found

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "n_features_out_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags

    def vectors_of(self) -> tuple[VectorsOf, str]:
        """What makes the vectors, and the fingerprint of the model; after `fit`."""
        return self._maker(), fingerprint(self.model_.module)

    def _maker(self) -> VectorsOf:
        strategies: list[Any] = [self.mix_ if each == "mix" else each for each in listed(self.strategy)]
        return vectors_of(self.model_, strategies, listed(self.pooling))

    def _learned_mix(self, texts: list[str], y: object) -> Mix:
        import torch

        poolings = listed(self.pooling)
        if len(poolings) > 1 or poolings[0] == "max":
            raise ConfigError("a mix is learned with one pooling: first, mean or last-token", got=", ".join(poolings))
        labels = [str(label) for label in labels_of(y, len(texts))]
        numbers = {label: number for number, label in enumerate(sorted(set(labels)))}
        if len(numbers) < 2:
            raise DataError("a mix is learned from at least two labels", got=f"{len(numbers)} in {len(labels):,} texts")
        maker = vectors_of(self.model_, [str(layer) for layer in range(blocks_of(self.model_.module) + 1)], poolings)
        found = embed(self.model_, maker, (({"text": text}, "") for text in texts), fast=self.fast or None)
        layers = np.array([[each.vectors[of.name] for of in maker.features] for each in found], np.float32)  # [N, K, W]
        return learn_mix(torch.from_numpy(layers), torch.tensor([numbers[label] for label in labels]))
