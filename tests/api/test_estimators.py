"""The estimators in scikit-learn: its own checks, pipelines, grid search, and saving without pickle."""

import copy
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import joblib  # type: ignore[import-untyped]  # it bears no types
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import check_estimator

import glassformer as gf
from glassformer.api.model import Model
from glassformer.base.errors import CheckpointError, ConfigError, DataError, PickleRefusedError
from glassformer.models.families import bert
from glassformer.models.transformer import build
from glassformer.text.train import train_tokenizer
from tests.contracts.tasks import SENTENCES
from tests.refusals import refused

ESTIMATORS: dict[str, Any] = {
    each.__name__: each for each in (gf.TextFeatures, gf.TextClassifier, gf.TextRegressor, gf.Tagger)
}

# What `check_estimator` of scikit-learn 1.6 and later runs where an estimator says that it reads no tables of numbers:
# it warns that all other checks need these. The next ones need no data, and are called one by one.
RUN_BY_SKLEARN = ["check_estimator_cloneable"]
CALLED = [
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_mixin_order",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
]

TEXTS = [f"{SENTENCES[number % 5]} {'good' if number % 2 else 'bad'} {number}" for number in range(24)]
LABELS = np.array(["plus" if number % 2 else "minus" for number in range(24)])
NUMBERS = np.array([4.5 if number % 2 else 1.5 for number in range(24)])
# Of the trainings one begins with a linear probe, which takes two seconds.
TINY = {"train.steps": 2, "train.compile": "off", "train.precision": "float32", "tune.probe": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tokenizer = train_tokenizer("wordpiece", [*SENTENCES * 3, *TEXTS], vocabulary=160)
    config = bert(size="tiny", layers=2, width=16, heads=2, vocabulary=tokenizer.vocabulary_size, max_length=32)
    return Model(build(config), tokenizer).save(tmp_path_factory.mktemp("estimators") / "model")


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_checks_of_scikit_learn(name: str) -> None:
    estimator = ESTIMATORS[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkipTestWarning)
        results = check_estimator(estimator, on_fail=None)
    assert [(result["check_name"], result["status"]) for result in results] == [(c, "passed") for c in RUN_BY_SKLEARN]
    for check in CALLED:
        getattr(estimator_checks, check)(name, clone(estimator))
    tags = estimator.__sklearn_tags__()
    assert tags.input_tags.string
    assert not tags.input_tags.two_d_array


def fitted(name: str, folder: Path) -> Any:
    if name == "TextFeatures":
        return gf.TextFeatures(folder).fit(TEXTS)
    if name == "TextClassifier":
        return gf.TextClassifier(folder, settings=TINY, batch=4).fit(TEXTS, LABELS)
    if name == "TextRegressor":
        return gf.TextRegressor(folder, settings=TINY, batch=4).fit(TEXTS, NUMBERS)
    return gf.Tagger(folder, settings=TINY, batch=4).fit(WORDS, TAGS)


WORDS = [text.split() for text in TEXTS]
TAGS = [["B-x" if word.startswith("t") else "O" for word in words] for words in WORDS]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_what_scikit_learn_asks_of_an_estimator_on_texts(name: str, folder: Path, tmp_path: Path) -> None:
    """Its checks on data, which it makes of numbers, on texts: fitted or not, fit again, order, subset, saved."""
    given = WORDS if name == "Tagger" else TEXTS
    method = "transform" if name == "TextFeatures" else "predict"
    with pytest.raises(NotFittedError):
        getattr(ESTIMATORS[name](folder), method)(given)
    estimator = fitted(name, folder)
    before = estimator.get_params()
    found = getattr(estimator, method)(given)
    assert len(found) == len(given)
    assert estimator.get_params() == before
    assert not hasattr(clone(estimator), "model_")
    assert same(getattr(fitted(name, folder), method)(given), found)  # fit is deterministic
    assert same(getattr(estimator, method)(given[::-1])[::-1], found)
    assert same(getattr(estimator, method)(given[3:5]), found[3:5])
    path = estimator.save(tmp_path / "saved")
    assert not [file for file in path.iterdir() if file.suffix in (".pkl", ".joblib", ".pt", ".bin")]
    assert same(getattr(ESTIMATORS[name].load(path), method)(given), found)
    assert gf.load(path) is not None  # a model like any other
    for write in (pickle.dumps, lambda one: joblib.dump(one, tmp_path / "x.joblib")):
        with refused(PickleRefusedError, do=("save", "load")):
            write(estimator)
    assert same(getattr(copy.deepcopy(estimator), method)(given), found)
    other = next(each for each in ESTIMATORS if each != name)
    with refused(CheckpointError, wanted=other, got=name):
        ESTIMATORS[other].load(path)
    with refused(DataError, got="'a text'"):
        getattr(estimator, method)("a text")


class Table:
    """As a DataFrame of pandas: its rows are in `to_numpy`, and as an iterable it is the names of its columns."""

    columns = ("first", "second")

    def __init__(self, rows: list[list[str]]) -> None:
        self.rows = rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def to_numpy(self) -> np.ndarray:
        return np.array(self.rows, dtype=object)


def test_a_table_is_its_rows_and_not_the_names_of_its_columns(folder: Path) -> None:
    features = gf.TextFeatures(folder).fit(TEXTS)
    assert same(features.transform(Table([[text] for text in TEXTS[:3]])), features.transform(TEXTS[:3]))
    with refused(DataError, got="second"):
        features.transform(Table([["first", "second"]] * 3))
    with refused(DataError, got="first", do="table['text']"):
        gf.load(folder).embed(Table([["first", "second"]] * 3))  # type: ignore[arg-type]  # what is refused


def same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and one.dtype.kind == "f":
        return bool(np.abs(one - other).max() <= 1e-5)  # float32: in another batch sums round otherwise
    return bool(np.array_equal(one, other)) if isinstance(one, np.ndarray) else list(one) == list(other)


def test_features_in_a_pipeline_and_a_grid(folder: Path) -> None:
    pipeline = make_pipeline(gf.TextFeatures(folder), LogisticRegression(max_iter=500))
    grid = GridSearchCV(
        pipeline, {"textfeatures__pooling": ["mean", "first"], "textfeatures__strategy": ["last", "embedding"]}, cv=2
    )
    grid.fit(np.array(TEXTS), LABELS)
    assert set(grid.best_params_) == {"textfeatures__pooling", "textfeatures__strategy"}
    assert grid.best_estimator_.score(TEXTS, LABELS) > 0.8
    assert cross_val_score(pipeline, TEXTS, LABELS, cv=2).shape == (2,)


def test_features_are_those_of_the_model(folder: Path) -> None:
    model = gf.load(folder)
    features = gf.TextFeatures(model, strategy=["last", "embedding"], pooling=["first", "max"]).fit(TEXTS)
    found = features.transform(np.array(TEXTS, dtype=object)[:, None])
    expected = model.embed(TEXTS, strategy=["last", "embedding"], pooling=["first", "max"])
    assert np.abs(found - np.concatenate(list(expected.values()), axis=1)).max() <= 1e-5
    assert found.shape == (24, features.n_features_out_)
    assert features.get_feature_names_out()[[0, -1]].tolist() == ["last.first.0", "embedding.max.15"]
    assert gf.TextFeatures(model).fit_transform([]).shape == (0, 32)  # the embedding and the last layer
    mixed = gf.TextFeatures(folder, strategy="mix").fit(TEXTS, LABELS)
    assert mixed.mix_ is not None
    assert len(mixed.mix_.weights) == 3
    assert mixed.transform(TEXTS[:2]).shape == (2, 16)
    with refused(DataError, got="None"):
        gf.TextFeatures(folder, strategy="mix").fit(TEXTS)
    with refused(ConfigError, wanted="4"):
        gf.TextFeatures(folder, strategy="concat-last-4").fit(TEXTS)
    with refused(DataError, wanted="1", got="3"):
        gf.TextFeatures(folder).fit(["a", 3])


def test_a_classifier_learns_and_answers_as_the_commands_do(folder: Path) -> None:
    settings = {**TINY, "tune.probe": True, "train.steps": 80, "task.pooling": "max"}
    classifier = gf.TextClassifier(folder, settings=settings, batch=8, learning_rate=1e-2, validation=0.2)
    classifier.fit(TEXTS, LABELS)
    assert classifier.classes_.tolist() == ["minus", "plus"]
    chances = classifier.predict_proba(TEXTS)
    assert chances.shape == (24, 2)
    assert chances.sum(axis=1) == pytest.approx(np.ones(24))
    assert classifier.score(TEXTS, LABELS) > 0.9
    assert [each.label for each in classifier.model_.classify(TEXTS)] == classifier.predict(TEXTS).tolist()
    with refused(DataError, got="1"):
        gf.TextClassifier(folder).fit(TEXTS, ["same"] * 24)
    with refused(DataError, got=("23", "24")):
        gf.TextClassifier(folder).fit(TEXTS, LABELS[:23])


def test_a_regressor_learns_numbers_of_texts_and_of_pairs(folder: Path) -> None:
    settings = {**TINY, "train.steps": 80, "task.pooling": "max"}
    regressor = gf.TextRegressor(folder, settings=settings, batch=8, learning_rate=1e-2, validation=0.2)
    regressor.fit(TEXTS, NUMBERS)
    found = regressor.predict(np.array(TEXTS))
    assert found.shape == (24,)
    assert regressor.score(TEXTS, NUMBERS) > 0.8
    assert [each.number for each in regressor.model_.classify(TEXTS)] == pytest.approx(found.tolist())
    pairs = [(text, text) for text in TEXTS]
    assert gf.TextRegressor(folder, settings=TINY, batch=4).fit(pairs, NUMBERS).predict(pairs).shape == (24,)
    for wrong in ("4.5", True, float("inf"), float("nan")):
        with refused(DataError, wanted="row 0", got=repr(wrong)):
            gf.TextRegressor(folder).fit(TEXTS, [wrong] * 24)
    with refused(DataError, got=("23", "24")):
        gf.TextRegressor(folder).fit(TEXTS, NUMBERS[:23])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("labels", [[0, 1], [False, True], [0.5, 1.5], ["a ", "a"]])
def test_labels_of_any_kind_come_back_as_they_were(folder: Path, labels: list[Any]) -> None:
    given = np.array(labels)[np.arange(24) % 2]
    pairs = [(text, text) for text in TEXTS]
    classifier = gf.TextClassifier(folder, settings=TINY, batch=4, class_weight="balanced").fit(pairs, given)
    found = classifier.predict(pairs)
    assert found.dtype == given.dtype
    assert set(found.tolist()) <= set(given.tolist())


@pytest.mark.long
def test_a_tagger_is_scored_as_seqeval_does(folder: Path) -> None:
    from seqeval.metrics import f1_score  # type: ignore[import-untyped]  # it bears no types

    settings = {**TINY, "train.steps": 40}
    tagger = gf.Tagger(folder, settings=settings, batch=8, learning_rate=5e-3).fit(WORDS, TAGS)
    found = tagger.predict(WORDS)
    assert [len(tags) for tags in found] == [len(words) for words in WORDS]
    assert tagger.score(WORDS, TAGS) == pytest.approx(f1_score(TAGS, found))
    assert tagger.predict([[], WORDS[0]])[0] == []
    assert set(tagger.classes_) >= {"O", "B-x"}
    with refused(DataError, wanted="0", got=("1", "10")):
        gf.Tagger(folder).fit(WORDS, [["O"], *TAGS[1:]])


@pytest.mark.parametrize(
    ("labels", "got"),
    [
        (["a", None] * 12, "None"),
        ([0.5, float("nan")] * 12, "nan"),
        ([1, "a"] * 12, "(int), 'a' (str)"),
        ([(0, 1), (1, 0)] * 12, "(0, 1)"),
        ([2**63 + 1, -1] * 12, str(2**63 + 1)),
    ],
)
def test_labels_that_are_none_are_refused(folder: Path, labels: list[Any], got: str) -> None:
    with refused(DataError, got=got):
        gf.TextClassifier(folder, settings=TINY).fit(TEXTS, labels)


def test_what_cannot_be_learned_is_refused_by_its_row(folder: Path) -> None:
    with refused(ConfigError, got="'plu'", do="'plus'"):
        gf.TextClassifier(folder, class_weight={"plu": 2.0}, settings=TINY).fit(TEXTS, LABELS)
    with refused(DataError, wanted="text 1 of 24", got="' '"):
        gf.TextClassifier(folder, settings=TINY).fit([TEXTS[0], " ", *TEXTS[2:]], LABELS)
    with refused(DataError, wanted="sentence 1 of 2", got="nan"):
        gf.Tagger(folder, settings=TINY).fit([["he", "sat"], ["he", float("nan")]], [["O", "O"], ["O", "B-x"]])
    with refused(DataError, wanted="sentence 0 of 2", got="None"):
        gf.Tagger(folder, settings=TINY).fit([["he", "sat"], ["he", "ate"]], [["O", None], ["O", "B-x"]])
    with refused(DataError, got="1 in 24"):
        gf.TextFeatures(folder, strategy="mix", pooling="first").fit(TEXTS, ["same"] * 24)
    strategies: tuple[Any, ...] = (-1, None)
    for strategy in strategies:
        with refused(ConfigError, got=str(strategy)):
            gf.TextFeatures(folder, strategy=strategy).fit(TEXTS)


def test_labels_and_tags_of_another_shape_are_refused(folder: Path, tmp_path: Path) -> None:
    for estimator in (gf.TextClassifier(folder), gf.TextRegressor(folder)):
        with refused(DataError, wanted="row 0"):
            estimator.fit(TEXTS, np.zeros((24, 2)))
    with refused(DataError, wanted="row 0"):
        gf.TextRegressor(folder).fit(TEXTS, [10**400] * 24)
    tagger = fitted("Tagger", folder)
    for tags in ([["O", "O", "O"]], [["O"]]):
        with refused(DataError, wanted="sentence 0", got="2 words"):
            tagger.score([["Ann", "left"]], tags)
    with refused(DataError, got="1 lists of tags for 2"):
        tagger.score([["Ann"], ["Bob"]], [["O"]])
    wrong: Any
    for wrong in ({"settings": "a"}, {"validation": "a"}, {"validation": None}, {"validation": True}):
        with refused(ConfigError, got=repr(next(iter(wrong.values())))):
            gf.TextRegressor(folder, **wrong).fit(TEXTS, NUMBERS)
    with refused(ConfigError, got="3"):
        gf.train("classify", set=3, out=tmp_path / "none")  # type: ignore[arg-type]  # what is refused
    ask: Any
    for ask in (gf.heads, gf.rollout, gf.logit_lens, gf.attributions, gf.contributions, gf.integrated_gradients):
        with refused(ConfigError, got="'english'"):
            ask("english")
    out = tmp_path / "run"
    regressor = gf.TextRegressor(folder, settings=TINY, batch=4, out=out).fit(TEXTS, NUMBERS)
    with refused(ConfigError, got="run", do="out"):
        regressor.fit(TEXTS, NUMBERS)


def test_tags_are_compared_in_the_form_in_which_they_were_learned(folder: Path) -> None:
    tagger = fitted("Tagger", folder)
    given = [[f" {tag} " for tag in tags] for tags in TAGS]
    assert tagger.score(WORDS, given) == tagger.score(WORDS, TAGS)


def test_tags_that_are_numbers_are_predicted_as_numbers(folder: Path, tmp_path: Path) -> None:
    given = [np.array([0 if tag == "O" else 12 for tag in tags]) for tags in TAGS]
    tagger = gf.Tagger(folder, settings=TINY, batch=4).fit(WORDS, given)
    found = tagger.predict([[], *WORDS])
    assert {type(tag) for tags in found for tag in tags} == {int}
    assert {tag for tags in found for tag in tags} <= set(tagger.classes_.tolist()) == {0, 12}
    right = [one == two for tags, its in zip(given, found[1:], strict=True) for one, two in zip(tags, its, strict=True)]
    assert tagger.score(WORDS, given) == sum(right) / len(right)
    assert gf.Tagger.load(tagger.save(tmp_path / "saved")).predict(WORDS) == found[1:]


def test_parameters_are_saved_or_refused(folder: Path, tmp_path: Path) -> None:
    features = gf.TextFeatures(folder, strategy={"last"}).fit(TEXTS)  # type: ignore[arg-type]  # a set
    assert gf.TextFeatures.load(features.save(tmp_path / "saved")).strategy == ["last"]
    features.set_params(fast=object())
    with refused(CheckpointError, wanted="other"):
        features.save(tmp_path / "other")


def test_parameters_of_numpy_are_saved(folder: Path, tmp_path: Path) -> None:
    """As those that GridSearchCV sets from an array."""
    classifier = fitted("TextClassifier", folder)
    classifier.set_params(seed=np.int64(3), epochs=np.arange(1, 3)[0])
    loaded = gf.TextClassifier.load(classifier.save(tmp_path / "saved"))
    assert (loaded.seed, loaded.epochs) == (3, 1)


def test_what_a_fit_was_asked_for_is_saved_with_it(tmp_path: Path) -> None:
    settings = {"task.pooling": "mean", "model.settings": {"layers": 1}}
    asked: dict[str, Any] = {"class_weight": {0: 1.0, 1: 3.0}, "settings": settings}
    texts = [f"text {word}" for word in "abcdefghijkl"]
    fitted = gf.TextClassifier(None, epochs=1, **asked).fit(texts, [1, 0] * 6)
    known = gf.TextClassifier.load(fitted.save(tmp_path / "saved")).get_params()
    assert {name: known[name] for name in asked} == asked


def test_a_classifier_takes_one_label_that_has_a_name() -> None:
    with refused(DataError, got="0.5"):
        gf.TextClassifier(None).fit(["good", "bad"] * 6, [1.0, 0.5] * 6)
    with refused(ConfigError, got="task.several"):
        gf.TextClassifier(None, settings={"task.several": True}).fit(["good", "bad"] * 6, [1, 0] * 6)
