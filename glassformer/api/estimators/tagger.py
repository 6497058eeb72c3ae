"""`Tagger`: an encoder fine-tuned for a tag of each word, as an estimator of scikit-learn."""

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from glassformer.api.estimators.given import sentences_of
from glassformer.api.estimators.tuning import Tuned
from glassformer.base.errors import DataError
from glassformer.scoring.bio import is_scheme, spans_of
from glassformer.tasks.rows import label_of


@dataclass(eq=False, repr=False, kw_only=True)
class Tagger(Tuned, BaseEstimator):  # type: ignore[misc]  # scikit-learn bears no types
    """A tag for each word: names (BIO), parts of speech. A sentence is a list of words, its tags a list as long.

    Parameters as those of `TextClassifier`; `crf`: the tags of a sentence are scored together, each with the one before
    it. Attributes after `fit`: `classes_`, of spans O and each type's B- and I-, also where no span of `y` has a second
    word; and `model_`, which is saved and opened like any other.
    """

    crf: bool = False

    def fit(self, X: object, y: object) -> Self:
        """Fine-tune the model. Raises DataError for sentences without as many tags as words."""
        y = list(y) if isinstance(y, Iterable) else y
        sentences, tags = _tagged(X, y)
        records = ({"words": words, "tags": its} for words, its in zip(sentences, tags, strict=True) if words)
        self.model_ = self._tuned("tag", records, {"task.crf": self.crf})
        kinds = {type(tag) for its in y for tag in its} if isinstance(y, list) else set()
        numbers = all(issubclass(kind, Integral) and not issubclass(kind, bool) for kind in kinds)
        self.classes_ = np.array(self.model_.labels, int if numbers else str)
        return self

    def predict(self, X: object) -> list[list[Any]]:
        """The tags of each sentence's words: strings, or whole numbers if they were learned as numbers."""
        check_is_fitted(self)
        sentences = sentences_of(X)
        found = iter(self.model_.tag(words=[words for words in sentences if words]))
        known = dict(zip(self.model_.labels, self.classes_.tolist(), strict=True))
        return [[known[tag] for tag in next(found).tags] if words else [] for words in sentences]

    def score(self, X: object, y: object) -> float:
        """The F1 of spans where the tags mark spans (BIO), as seqeval counts it; else the share of right tags. Raises
        DataError for sentences without as many tags as words.
        """
        sentences, given = _tagged(X, y)
        right = [[label_of(tag, "a tag") for tag in its] for its in given]  # as they were learned
        found = [[str(tag) for tag in its] for its in self.predict(sentences)]
        if not is_scheme(self.model_.labels):
            words = sum(map(len, right))
            equal = sum(
                one == two for tags, its in zip(right, found, strict=True) for one, two in zip(tags, its, strict=True)
            )
            return equal / words if words else 0.0
        marked = [(set(spans_of(one)), set(spans_of(two))) for one, two in zip(right, found, strict=True)]
        hits = sum(len(one & two) for one, two in marked)
        both = sum(len(one) + len(two) for one, two in marked)
        return 2 * hits / both if both else 0.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags


def _tagged(X: object, y: object) -> tuple[list[list[str]], list[list[str]]]:
    """Sentences and their tags; raises DataError unless each word has one."""
    sentences, tags = sentences_of(X), sentences_of(y, "tags")
    if len(sentences) != len(tags):
        raise DataError("each sentence needs its tags", got=f"{len(tags):,} lists of tags for {len(sentences):,}")
    for number, (words, its) in enumerate(zip(sentences, tags, strict=True)):
        if len(words) != len(its):
            raise DataError(
                f"each word of sentence {number} must have a tag", got=f"{len(its)} tags for {len(words)} words"
            )
    return sentences, tags
