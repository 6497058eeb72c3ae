"""An evaluation has the same figures whichever engine answers, and says which one did."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.answering.engines import choice
from glassformer.run.evaluate import evaluate
from glassformer.training.progress import NoProgress
from tests.contracts.tasks import TASKS, Row

NAMES = ("classify", "classify several", "regress", "choose", "tag", "answer", "translate", "chat", "annotated-masks")
ROWS = [row for row in TASKS if row.name in NAMES]
# An answer of theirs is compared in test_engines.py; their figures are means of it.
LONG = ("classify several", "regress", "choose", "annotated-masks")
# Probabilities and numbers of the engines are within 1e-4 of torch's, and so are their means and logarithms near 1.
ENGINES = 1e-4


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSFORMER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def numbers(found: Any, path: str = "") -> dict[str, Any]:
    """All numbers and words of a result, by where they are, without the engine's name."""
    if isinstance(found, dict):
        return {key: its for name, each in found.items() for key, its in numbers(each, f"{path}.{name}").items()}
    if isinstance(found, list | tuple):
        return {key: its for name, each in enumerate(found) for key, its in numbers(each, f"{path}.{name}").items()}
    return {path: found}


def trained(row: Row, folder: Path) -> gf.Model:
    """One layer: following a run of it is what takes the time of a conversion."""
    recipe = row.recipe(folder)
    recipe["model"]["settings"] |= {"layers": 1}
    recipe["train"] |= {"steps": 2, "evaluate_every": 2}
    return gf.train(recipe, out=folder / "run", progress=NoProgress())


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "row",
    [pytest.param(row, id=row.name, marks=pytest.mark.long if row.name in LONG else ()) for row in ROWS],
)
def test_figures_are_those_of_torch(row: Row, tmp_path: Path) -> None:
    model = trained(row, tmp_path)
    if row.name == "answer":  # its threshold is a score of these rows, and so a tie
        model.task = model.measured_as.model_copy(update={"threshold": -9.0})
    ours = evaluate(model, baselines=False)
    assert "engine" not in ours.report
    model.engine = "onnxruntime" if model.config.decoder is None else "ctranslate2"
    said = list[str]()
    model.tell = said.append
    theirs = evaluate(model, baselines=False)
    assert theirs.report["engine"] == model.engine, said
    one, other = (
        numbers([its.count, its.of, {key: of for key, of in its.report.items() if key != "engine"}])
        for its in (ours, theirs)
    )
    assert one.keys() == other.keys()
    for name, figure in one.items():
        if isinstance(figure, float) and math.isfinite(figure):
            assert other[name] == pytest.approx(figure, rel=ENGINES, abs=ENGINES), name
        else:
            assert other[name] == figure or figure != figure, name


def test_auto_measures_few_rows_with_torch(tmp_path: Path) -> None:
    row = next(each for each in ROWS if each.name == "classify")
    model = trained(row, tmp_path)
    model.engine = "auto"
    assert "engine" not in evaluate(model, baselines=False).report
    assert choice.known_of(model).answered == "torch"


def test_what_an_engine_cannot_do_is_measured_by_torch(tmp_path: Path) -> None:
    row = next(each for each in ROWS if each.name == "classify")
    model = trained(row, tmp_path)
    model.engine = "ctranslate2"
    said = list[str]()
    model.tell = said.append
    assert evaluate(model, baselines=False).report["engine"] == "torch"
    assert said[0].startswith("torch answers, not ctranslate2")
