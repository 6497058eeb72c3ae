"""`TextClassifier`: an encoder fine-tuned for one label of each text, as a classifier of scikit-learn.

N texts · L labels
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self
from unicodedata import normalize

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from glassformer.api.estimators.given import check_words, labelled, labels_of, texts_or_pairs
from glassformer.api.estimators.tuning import Tuned
from glassformer.base.errors import ConfigError, DataError
from glassformer.base.plain import plain


@dataclass(eq=False, repr=False, kw_only=True)
class TextClassifier(Tuned, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn bears no types
    """A label for each text [N] or pair of texts [N, 2]: `train classify` with scikit-learn's interface.

    Parameters: `model` to start from, a folder, a bundled name, a `Model`, or None to train from random weights;
    `epochs`, `learning_rate`, `batch`, `length` (tokens of a row), None: as the recipe says, and no longer than the
    model reads; `validation`, the share of the texts that chooses the best step of the training and the temperature of
    the probabilities; `class_weight`, None, "balanced" or a factor by label; `seed`; `device`; `settings`, any others
    by name, such as `{"task.pooling": "mean"}`; `out`, a new folder for the run of one `fit`, which else is not kept;
    `verbose`, whether its progress is shown.

    Attributes after `fit`: `classes_`, and `model_`, which is saved and opened like any other.
    """

    class_weight: str | Mapping[Any, float] | None = None

    def fit(self, X: object, y: object) -> Self:
        """Fine-tune the model. Raises DataError for anything but texts, and for fewer than two different labels."""
        texts, pairs = texts_or_pairs(X)
        check_words(texts, pairs)
        if isinstance(self.settings, Mapping) and self.settings.get("task.several"):
            do = "train several labels with gf.train or glassformer train classify"
            raise ConfigError("a TextClassifier has one label for each text", got="task.several", do=do)
        labels = labels_of(y, len(texts))
        classes = np.unique(np.array(labels))
        if classes.dtype.kind == "f" and (classes % 1 != 0).any():
            do = "use gf.TextRegressor for numbers, or write labels as words"
            got = repr(float(classes[classes % 1 != 0][0]))
            raise DataError("labels must be words or whole numbers", got=got, do=do)
        if len(classes) < 2:
            raise DataError("to classify there must be at least two labels", got=f"{len(classes)} in {len(texts):,}")
        names = names_of(classes)
        number = {each: names[place] for place, each in enumerate(classes.tolist())}
        if lost := [label for label in labels if label not in number]:
            got = f"{lost[0]!r}, which NumPy rounds next to the others"
            raise DataError("labels must stay different in one array", got=got, do="give them as words")
        records = labelled(texts, pairs, [number[label] for label in labels])
        weights: Any = self.class_weight
        if isinstance(weights, Mapping):
            if unknown := [label for label in weights if label not in number]:
                raise ConfigError(
                    "class_weight must name labels of y",
                    got=repr(unknown[0])[:60],
                    do=f"there are: {', '.join(map(repr, list(number)[:10]))}",
                )
            weights = {number[label]: plain(factor) for label, factor in weights.items()}
        own = {"task.class_weights": weights, "data.pair": None if pairs is None else "pair"}
        self.model_ = self._tuned("classify", records, own)
        self.classes_ = classes
        return self

    def predict_proba(self, X: object) -> npt.NDArray[np.float64]:
        """How likely each label is, [N, L], in the order of `classes_`."""
        check_is_fitted(self)
        texts, pairs = texts_or_pairs(X)
        names = names_of(self.classes_)
        found = self.model_.classify(texts, pairs)
        return np.array([[each.probabilities.get(name, 0.0) for name in names] for each in found]).reshape(
            -1, len(names)
        )

    def predict(self, X: object) -> npt.NDArray[Any]:
        """The likeliest label of each text, [N]."""
        chances = self.predict_proba(X)
        return self.classes_[chances.argmax(axis=1)]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags


def names_of(classes: npt.NDArray[Any]) -> list[str]:
    """The labels as a model names them: themselves where they are different words, else their numbers."""
    names = [normalize("NFC", str(each).strip()) for each in classes.tolist()]
    good = len(set(names)) == len(names) and all(names) and classes.dtype.kind not in "f"
    return names if good else [str(number) for number in range(len(names))]
