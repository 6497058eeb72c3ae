"""Every verb of the table has its predictor, its method, its command and its printed answer; every task its recipes."""

import inspect

import pytest

from glassformer.api.model import Model
from glassformer.base.errors import ConfigError
from glassformer.bundled.recipes import ready_recipes
from glassformer.cli.ask.ask import asking
from glassformer.saved.recipe import resolve
from glassformer.tasks import TASKS, VERBS, predictor_of, task_named
from glassformer.tasks.predictor import Predictor
from glassformer.tasks.task import Task
from tests.contracts.tasks import TASKS as HELD


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_is_there_in_python_on_the_command_line_and_as_a_predictor(verb: str) -> None:
    assert issubclass(predictor_of(verb), Predictor)
    assert not inspect.isabstract(predictor_of(verb))
    assert VERBS[verb].method == callable(getattr(Model, verb, None))
    options = inspect.signature(asking(verb)).parameters
    assert {f"{role}_column" for role in VERBS[verb].columns} <= options.keys()
    assert {"model", "text", "file", "out", "json", "fast", "device", "threads"} <= options.keys()


@pytest.mark.parametrize("name", TASKS)
def test_a_task_has_its_settings_its_recipes_and_a_row_in_the_contract(name: str) -> None:
    task = task_named(name)
    assert issubclass(task, Task)
    assert not inspect.isabstract(task)
    assert task.Section.model_fields["name"].default == name
    assert set(TASKS[name].columns) <= task.Data.model_fields.keys()
    assert name in {row.task for row in HELD}
    for recipe in {TASKS[name].recipe, TASKS[name].tuning}:
        assert recipe in ready_recipes()
        assert resolve(recipe).task.name == name


def test_what_is_not_in_the_tables_is_refused_with_the_nearest() -> None:
    with pytest.raises(ConfigError) as task:
        task_named("clasify")
    assert "'classify'" in task.value.do
    with pytest.raises(ConfigError) as verb:
        predictor_of("fil")
    assert "'fill'" in verb.value.do
