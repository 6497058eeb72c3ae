"""`compare` names the columns of a table by the options that `evaluate` has, for every task."""

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

import glassformer as gf
from glassformer.cli.train.compare import compare
from glassformer.cli.train.evaluate import evaluate
from tests.cli.conftest import Run
from tests.run.heads import TAGS, TEXTS, model_for

QUESTIONS = [{"said": TEXTS[n % 2], "one": f"day {n}", "two": "Rome", "right": n % 2} for n in range(8)]
SENTENCES = [{"forms": text.split(), "kinds": [TAGS[n % 2] for n, _ in enumerate(text.split())]} for text in TEXTS]
TABLES: dict[str, tuple[dict[str, Any], list[dict[str, Any]], list[str]]] = {
    "choose": (
        {},
        QUESTIONS,
        ["--text-column", "said", "--choices-column", "one", "--choices-column", "two", "--label-column", "right"],
    ),
    "tag": ({"labels": TAGS}, SENTENCES, ["--words-column", "forms", "--tags-column", "kinds"]),
}


def test_the_options_are_those_of_evaluate() -> None:
    columns = {
        name: vars(parameter.annotation.__metadata__[0])
        for name, parameter in inspect.signature(evaluate, eval_str=True).parameters.items()
        if "  [default: as in training]"
        in getattr(getattr(parameter.annotation, "__metadata__", [None])[0], "help", "")
    }
    assert {"text_column", "choices_column", "words_column", "tags_column", "answers_column"} <= columns.keys()
    others = inspect.signature(compare, eval_str=True).parameters
    assert {name: vars(others[name].annotation.__metadata__[0]) for name in columns} == columns


@pytest.mark.parametrize("task", TABLES)
def test_two_models_are_compared_on_a_table_with_other_columns(task: str, run: Run, tmp_path: Path) -> None:
    section, rows, options = TABLES[task]
    models = [model_for(task, section, layers=layers).save(tmp_path / str(layers)) for layers in (1, 2)]
    table = tmp_path / "table.jsonl"
    table.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    done = run("compare", *models, table, *options, "--json")
    assert done.code == 0, done.err
    assert done.records[0]["count"] == len(rows)
    assert run("compare", *models, table).code == 2


@pytest.mark.parametrize("own_first", [True, False])
def test_both_models_read_the_columns_that_one_of_them_learned_from(own_first: bool, tmp_path: Path) -> None:
    """Else each would read its own: here the numbers as sources, which the other model translates."""
    path = tmp_path / "pairs.csv"
    path.write_text("id,french,english\n1,Un chien court.,A dog runs.\n2,Il est ici.,He is here.\n3,Viens !,Come!\n")
    own, usual = gf.load("en-fr"), gf.load("en-fr")
    assert own.data is not None
    own.data = own.data.model_copy(update={"text": "english", "target": "french"})
    found = gf.compare(*((own, usual) if own_first else (usual, own)), path)
    assert {name: each.difference for name, each in found.differences.items()} == dict.fromkeys(found.differences, 0)
    assert found.differences["bleu"].mine > 30
