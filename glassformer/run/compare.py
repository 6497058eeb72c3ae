"""Whether one of two models is better, by a paired bootstrap of their scores on the same examples."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unicodedata import normalize

from glassformer.base.errors import ConfigError
from glassformer.data.readers.rows import names_of
from glassformer.data.readers.table_format import is_number
from glassformer.data.stores.split import Split
from glassformer.run.evaluate import ROLES, evaluate
from glassformer.saved.artefact import Artefact
from glassformer.saved.opening import open_model
from glassformer.scoring.score import THIS_MODEL
from glassformer.scoring.verdict import FEW, Difference, differences
from glassformer.tasks import task_named
from glassformer.training.progress import NoProgress, NotesOnce, Progress

# Settings of `[data]` that decide which records are held out, and what is read of them.
_SAME = (
    *("files", "validation_files", "target_files", "validation_target_files", "validation", "test", "seed"),
    *("text", "pair", "target", "label", "answers", "header"),
)


@dataclass(frozen=True)
class Comparison:
    """The scores that two models share on `count` things; `best` decides; `left_out`: of other units."""

    differences: Mapping[str, Difference]
    count: int
    unit: str
    best: str
    left_out: tuple[str, ...] = ()

    @property
    def judged(self) -> Difference:
        return self.differences.get(self.best.removeprefix("-")) or next(iter(self.differences.values()))

    @property
    def sentence(self) -> str:
        opening = {
            "better": "the first model is better",
            "worse": "the second model is better",
            "not different": f"no clear difference ({self.count:,} {self.unit})",
        }[self.judged.verdict]
        few = f"; {self.count:,} {self.unit} are few" if self.count < FEW else ""
        return f"{opening}: {self.judged.told}{few}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "unit": self.unit,
            "verdict": self.judged.verdict,
            "sentence": self.sentence,
            "left_out": list(self.left_out),
            "scores": {name: each.to_dict() for name, each in self.differences.items()},
        }


def compare(
    model: Artefact | str | Path,
    other: Artefact | str | Path,
    *files: str | Path,
    split: Split | None = None,
    columns: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Compare two models on these files, else on what both held out. Where only one of them learned from columns with
    names of their own, or both did, those of the first that did are read for both. Raises ConfigError for different
    tasks, labels or held-out records, and for tasks that are not measured example by example.
    """
    pair = [each if isinstance(each, Artefact) else open_model(each, Artefact) for each in (model, other)]
    _check_comparable(pair[0], pair[1], files=bool(files))
    if files:
        columns = {**(_own_columns(pair[0]) or _own_columns(pair[1])), **(columns or {})}
    once = NotesOnce(progress or NoProgress())
    found = [evaluate(each, files, split=split, columns=columns, baselines=False, progress=once) for each in pair]
    measures = [scores.measures.get(THIS_MODEL) for scores in found]
    if measures[0] is None or measures[1] is None:
        raise ConfigError(
            "only scores that are measured example by example can be compared",
            got=f"the task {pair[0].measured_as.name}, whose scores are sums over all text",
            do="measure each of them with glassformer evaluate",
        )
    kind = task_named(pair[0].measured_as.name)
    same_tokens = pair[0].tokenizer.fingerprint == pair[1].tokenizer.fingerprint
    if not measures[0].asks_the_same(measures[1]):
        counts = f"{len(measures[0]):,} examples of the first and {len(measures[1]):,} of the second"
        do = "compare them on files whose rows both can use"
        if not same_tokens and kind.of_tokens:
            sizes = ", and compare the bits per byte" * ("bits_per_byte" in measures[0].values())
            do = f"their tokens differ: measure each with glassformer evaluate{sizes}"
        elif "bleu" in measures[0].values():
            counts += ", which are not the same pairs"
            do += ": data.remove and data.length leave pairs out"
        elif measures[0].asked is not None:
            counts = f"{counts}, which ask for other tokens"
            do = (
                "train both with the same data and the same choice of masked words: data.length, data.seed, task.rate …"
            )
        raise ConfigError("two models are compared on the same examples", got=counts, do=do)
    compared = differences(measures[0], measures[1])
    other_units = (*pair[0].measured_as.other_units(pair[1].measured_as), *(() if same_tokens else kind.of_tokens))
    left_out = tuple(name for name in compared if name in other_units)
    compared = {name: each for name, each in compared.items() if name not in left_out}
    if not compared:
        raise ConfigError("two models are compared by scores that both have", got="no such score")
    # What the bootstrap draws: for tags that are sentences, though the scores are of their words.
    count = len(measures[0])
    unit = found[0].unit if count == found[0].count else "examples"
    return Comparison(compared, count, unit, pair[0].measured_as.compared_by, left_out)


def _own_columns(model: Artefact) -> dict[str, Any]:
    """The names of the columns that a model learned from, by role, where they are not the usual ones."""
    usual, found = task_named(model.measured_as.name).Data(), dict[str, Any]()
    for role in ROLES:
        of = getattr(model.data, role, None)
        if of is not None and of != getattr(usual, role, of) and not any(map(is_number, names_of({role: of}))):
            found[role] = of
    return found


def _check_comparable(model: Artefact, other: Artefact, *, files: bool) -> None:
    tasks = [each.measured_as.name for each in (model, other)]
    if tasks[0] != tasks[1]:
        raise ConfigError("two models of one task can be compared", got=f"the tasks {' and '.join(tasks)}")
    mine, others = ({normalize("NFC", label) for label in each.labels} for each in (model, other))
    if mine != others:
        only = sorted(mine ^ others)
        raise ConfigError(
            "two models with the same labels can be compared",
            got=f"labels that only one of them has: {', '.join(only[:5])}{' …' if len(only) > 5 else ''}",
        )
    if files:
        return
    for name in _SAME:
        one, two = getattr(model.data, name, None), getattr(other.data, name, None)
        if one != two:
            raise ConfigError(
                "without files two models are compared on what both held out of the same data",
                got=f"data.{name} = {one!r} and {two!r}",
                do="name files that neither was trained on",
            )
