"""The page on scikit-learn: its code on small data, with few steps."""

import re
from pathlib import Path

import pytest

import glassformer as gf
from glassformer.cli.__main__ import main
from tests.docs.pages import blocks

TEXTS = [f"A {('dull', 'fine')[n % 2]} film of {n} minutes." for n in range(60)]


@pytest.mark.long
def test_the_code_of_the_page(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = repository / "docs" / "do" / "scikit-learn.md"
    monkeypatch.chdir(tmp_path)
    names = {"texts": TEXTS, "labels": [n % 2 for n in range(60)]}
    _, example, searched, shown, grid, saving = blocks(page, "python")
    assert len([line for line in example.splitlines() if line]) == 6
    exec(compile(re.sub("1500", "40", example), page.name, "exec"), names)
    assert float(capsys.readouterr().out) > 0.8
    exec(compile(re.sub("1500", "40", searched), page.name, "exec"), names)
    exec(compile(shown, page.name, "exec"), names)
    assert 'id="section-probe"' in Path("page.html").read_text(encoding="utf-8")
    exec(compile(grid, page.name, "exec"), names)
    assert "textfeatures__pooling" in capsys.readouterr().out
    # The same calls with a model of two steps: what is trained is not what this test is about.
    small = {"train.steps": 2, "train.compile": "off", "train.precision": "float32"}
    saving = saving.replace('settings={"task.pooling": "mean"}', f"settings={ {**small, 'task.pooling': 'mean'} }")
    saving = saving.replace("epochs=2", "batch=4").replace("epochs=1", f"batch=4, settings={small}")
    exec(compile(saving, page.name, "exec"), names)
    assert "(1, 2)" in capsys.readouterr().out
    assert main(["classify", "runs/reviews", "A fine film."]) == 0
    for name in ("TextFeatures", "TextClassifier", "TextRegressor", "Tagger"):
        assert f"`gf.{name}`" in page.read_text(encoding="utf-8")
        assert hasattr(gf, name)


def test_the_page_lists_the_checks_that_ran(repository: Path) -> None:
    from tests.api.test_estimators import CALLED, RUN_BY_SKLEARN

    page = (repository / "docs" / "do" / "scikit-learn.md").read_text(encoding="utf-8")
    assert set(re.findall(r"`(check_\w+)`", page)) == {"check_estimator", *CALLED, *RUN_BY_SKLEARN}
