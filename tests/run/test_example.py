"""The command that is shown after a training, and on a model's card, can be run and makes sense."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from glassformer.base.errors import TokenizerError
from glassformer.cli.__main__ import main
from glassformer.run.card import example
from glassformer.tasks import TASKS as ALL
from glassformer.tasks import predictor_of, verb_of
from glassformer.text.tokenizer import Tokenizer
from tests.run.heads import TAGS, model_for

TASKS: dict[str, dict[str, Any]] = {
    "classify": {"labels": ("a", "b")},
    "regress": {},
    "choose": {},
    "tag": {"labels": TAGS},
    "answer": {},
}


@pytest.mark.parametrize("task", TASKS)
def test_the_command_runs(task: str, tmp_path: Path) -> None:
    model = model_for(task, TASKS[task])
    verb, words = example(model)
    assert main([verb, str(model.save(tmp_path / "model")), *words]) == 0


@pytest.mark.parametrize("task", ALL)
def test_what_every_task_has_learned_can_be_tried(task: str) -> None:
    kind = predictor_of(verb_of(task), task)
    assert kind.sample
    assert len(kind.sample) == 1 or kind.sample_option.startswith("--")


@pytest.mark.parametrize("any_text", [True, False])
def test_the_candidates_differ_from_each_other_and_from_the_text(
    any_text: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were the text once and twice."""
    model = model_for("choose", {})

    def refuses(*given: object, **named: object) -> None:
        raise TokenizerError("a token for unknown words is needed")

    if not any_text:
        monkeypatch.setattr(Tokenizer, "encode", refuses)
    verb, words = example(model)
    assert verb == "choose"
    text, *candidates = [words[0], *(word for option, word in pairwise(words) if option == "--choice")]
    assert len({text, *candidates}) == 3
