"""The page on adding a task, run as a stranger would: its file, its row in the table, its recipe."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

import glassformer as gf
from glassformer.base.settings import read_toml
from glassformer.tasks import TASKS, TaskEntry
from glassformer.tasks.predict import predict
from glassformer.training.progress import NoProgress

NAME = "glassformer.tasks.word_order"


@pytest.fixture
def page(repository: Path) -> dict[str, list[str]]:
    """The blocks of code of the page, by language."""
    text = (repository / "docs" / "adding-a-task.md").read_text(encoding="utf-8")
    blocks: dict[str, list[str]] = {}
    for language, code in re.findall(r"```(\w+)\n(.*?)```", text, flags=re.DOTALL):
        blocks.setdefault(language, []).append(code)
    return blocks


def test_the_task_of_the_page_is_trained_saved_and_asked(
    page: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, row = page["python"]
    (recipe,) = page["toml"]
    (tmp_path / "word_order.py").write_text(file, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(NAME, tmp_path / "word_order.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, NAME, module)
    spec.loader.exec_module(module)
    rows: dict[str, TaskEntry] = {}
    exec(row, {"TASKS": rows, "TaskEntry": TaskEntry})
    for name, entry in rows.items():  # into the table itself: other modules hold it too
        monkeypatch.setitem(TASKS, name, entry)

    verbs, things = ("likes", "sees", "has"), ("house", "garden", "river", "summer")
    texts = [
        f"she {verb} the {one} and he {other} a {two}"
        for verb in verbs
        for other in verbs
        for one in things
        for two in things
    ]
    lines = [json.dumps({"text": f"{text} {number % 3}"}) for number, text in enumerate(texts)]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "recipe.toml").write_text(recipe, encoding="utf-8")
    values = read_toml(tmp_path / "recipe.toml")
    values["data"]["files"] = [str(tmp_path / "texts.jsonl")]

    model = gf.train(values, out=tmp_path / "run", progress=NoProgress())
    assert model.metrics["scores"]["accuracy"] > 0.9  # the order of these words is easy to tell
    loaded = gf.load(tmp_path / "run")
    assert loaded.evaluate()["accuracy"] == pytest.approx(model.metrics["scores"]["accuracy"])
    task = module.WordOrder.of(loaded.module, loaded.tokenizer, loaded.context({}))
    examples = [task.example({"text": text}, "") for text in texts[:20]]
    found = list(predict(task, loaded.module, examples))
    assert sum(answer == module.LABELS[each.label] for each, answer in zip(examples, found, strict=True)) >= 18
