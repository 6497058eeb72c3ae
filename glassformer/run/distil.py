"""A teacher and its student: which layers it starts from, and what must be the same in both."""

import re
from dataclasses import dataclass
from typing import Any

import torch

from glassformer.base.errors import ConfigError
from glassformer.config import ModelConfig
from glassformer.models.fingerprint import fingerprint
from glassformer.models.transformer import Transformer
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_model
from glassformer.saved.sections import OF_THE_TEACHER, DistilSection
from glassformer.tasks import task_named
from glassformer.tasks.feed import check_taught
from glassformer.tasks.labels.text_pair import two_segments
from glassformer.tasks.settings import TaskSection
from glassformer.tasks.task import Source, Task

_BLOCK = re.compile(r"encoder\.blocks\.(\d+)\.")


@dataclass(frozen=True)
class Teacher:
    """A teacher, and the tables of the recipe that it completes: [task] with its labels, [distil]."""

    model: Artefact
    task: TaskSection
    distil: DistilSection


def teacher_of(section: DistilSection, task: TaskSection) -> Teacher:
    """The teacher that the settings name; raises ConfigError for another task, or one that has changed."""
    assert section.teacher is not None
    check_taught(task_named(task.name))
    teacher = open_model(section.teacher, Artefact, "cpu")
    if teacher.task is None or teacher.task.name != task.name:
        raise ConfigError(
            f"a student of {task.name} needs a teacher of {task.name}",
            got=f"{section.teacher}, a model of {teacher.task_name or 'no task'}",
            do="name a model that was trained for it",
        )
    print_of = fingerprint(teacher.module)
    if section.fingerprint not in ("", print_of):
        raise ConfigError(
            "a student goes on with the teacher that it began with",
            got=f"other weights in {section.teacher}",
            do="copy the teacher back, or begin again in another --out",
        )
    return Teacher(
        teacher,
        task.model_copy(update=_in_common(teacher.task, task)),
        section.model_copy(update={"fingerprint": print_of}),
    )


def _in_common(teacher: TaskSection, student: TaskSection) -> dict[str, Any]:
    """What a student shares with its teacher: labels, unit of numbers, pooling unless the recipe changes it."""
    known = type(student).model_fields
    found = {name: getattr(teacher, name) for name in OF_THE_TEACHER if name in known}
    if "pooling" in known and getattr(student, "pooling") != known["pooling"].default:  # noqa: B009  # not of every task
        del found["pooling"]
    if "deviation" in found and found["deviation"] is None:  # an imported model, whose head knows the unit
        found |= {"mean": 0.0, "deviation": 1.0}
    return found


def check_pair(teacher: Artefact, student: Artefact, section: DistilSection, *, pairs: bool) -> None:
    """Raise ConfigError unless a student from `--start` reads the teacher's tokens, pairs and compared width."""
    if student.tokenizer.fingerprint != teacher.tokenizer.fingerprint:
        raise ConfigError(
            "a student and its teacher read the same tokens",
            got=f"another tokenizer in the teacher {section.teacher}",
            do="leave --start out: the student then begins from layers of the teacher, with its tokenizer",
        )
    if pairs and two_segments(teacher.config) and not two_segments(student.config):
        raise ConfigError(
            "a teacher that tells the texts of a pair apart by their segments needs a student that does",
            got=f"a student of the family {student.config.family}, without segments",
            do="leave --start out, or begin from a model of the teacher's family",
        )
    widths = [model.config.output_stack.width for model in (student, teacher)]
    if section.cosine and widths[0] != widths[1]:
        raise ConfigError(
            "states are compared between models of one width",
            got=f"a student of width {widths[0]} and a teacher of width {widths[1]}",
            do="leave this loss out with --cosine 0",
        )


def student_of(teacher: Artefact, section: DistilSection) -> tuple[Artefact, str]:
    """A model with some of the teacher's blocks and all else, and which blocks. Raises ConfigError for too many."""
    encoder = teacher.config.encoder
    if encoder is None or teacher.config.decoder is not None:
        raise ConfigError("a student begins from an encoder", got=f"the family {teacher.config.family}")
    count = len(encoder.blocks)
    wanted = max(1, count // 2) if section.layers is None else section.layers
    if not 1 <= wanted <= count:
        raise ConfigError(
            f"a student of {section.teacher} has at most its {count} layers", got=f"distil.layers = {wanted}"
        )
    chosen = spread(count, wanted)
    blocks = tuple(encoder.blocks[number] for number in chosen)
    config = teacher.config.model_copy(update={"encoder": encoder.model_copy(update={"blocks": blocks})})
    config = ModelConfig.model_validate_json(config.model_dump_json())  # once more: blocks depend on each other
    module, theirs = Transformer(config), teacher.module.state_dict()

    def name_in_teacher(name: str) -> str:
        return _BLOCK.sub(lambda found: f"encoder.blocks.{chosen[int(found[1])]}.", name)

    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            tensor.copy_(theirs[name_in_teacher(name)])
    student = Artefact(
        module,
        teacher.tokenizer,
        task=teacher.task,
        length=teacher.length,
        data=teacher.data,
        templates=teacher.templates,
    )
    layers = ", ".join(str(number) for number in chosen)
    return student, f"the student begins with {wanted} of the teacher's {count} layers: {layers}"


def taught_by(teacher: Artefact, task: Task, source: Source, *, held_out: bool, limit: int) -> dict[str, Any]:
    """A teacher's size and scores on a student's examples. `held_out`: not those of the training; it is fitted."""
    module = teacher.module.eval()
    own = task.fitted(module, source, lambda note: None) if held_out else task
    return {
        "parameters": sum(each.numel() for each in teacher.module.parameters()),
        "layers": len(teacher.config.output_stack.blocks),
        "scores": own.evaluate(module, source, limit=limit).flat(),
    }


def spread(count: int, wanted: int) -> list[int]:
    """So many of `count` layers, evenly spread from first to last: of twelve 0, 2, 4, 7, 9, 11, as in DistilBERT."""
    return [0] if wanted == 1 else [round(place * (count - 1) / (wanted - 1)) for place in range(wanted)]
