"""`TextRegressor`: an encoder fine-tuned for a number for each text, as a regressor of scikit-learn.

N texts
"""

import sys
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from glassformer.api.estimators.given import check_words, labelled, labels_of, texts_or_pairs
from glassformer.api.estimators.tuning import Tuned
from glassformer.base.errors import DataError


@dataclass(eq=False, repr=False, kw_only=True)
class TextRegressor(Tuned, RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn bears no types
    """A number for each text [N] or pair of texts [N, 2]: `train regress` with scikit-learn's interface.

    Parameters as those of `TextClassifier`, but for `class_weight`. `score` is R², as of any regressor of scikit-learn.
    Attribute after `fit`: `model_`, which is saved and opened like any other.
    """

    def fit(self, X: object, y: object) -> Self:
        """Fine-tune the model. Raises DataError for anything but texts with finite numbers."""
        texts, pairs = texts_or_pairs(X)
        check_words(texts, pairs)
        numbers = labels_of(y, len(texts))
        for row, number in enumerate(numbers):
            if isinstance(number, str | bool) or not abs(number) <= sys.float_info.max:  # which NaN is not
                raise DataError(f"the label of row {row} must be a finite number", got=repr(number)[:60])
        own = {"data.pair": None if pairs is None else "pair"}
        self.model_ = self._tuned("regress", labelled(texts, pairs, numbers), own)
        return self

    def predict(self, X: object) -> npt.NDArray[np.float64]:
        """The number of each text, [N]."""
        check_is_fitted(self)
        texts, pairs = texts_or_pairs(X)
        return np.array([each.number for each in self.model_.classify(texts, pairs)], dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags
