"""The end of a run: the model is measured, and saved with its scores, its recipe and its card."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from glassformer.base.errors import NotFiniteError
from glassformer.run.card import write_card
from glassformer.run.distil import taught_by
from glassformer.run.prepare import Prepared
from glassformer.runtime.device import Log
from glassformer.saved import store
from glassformer.saved.artefact import Artefact
from glassformer.scoring.score import not_above_a_baseline
from glassformer.scoring.verdict import intervals_by_flat_name, verdict
from glassformer.tasks import task_named
from glassformer.training.cadence import EVALUATION_ROWS
from glassformer.training.run import better_if_higher

# Enough masked words for an accuracy within about half a percent; `evaluate` measures on all.
_MEASURED_ROWS = 1024


@dataclass(frozen=True)
class Fitted:
    """`facts` are kept with the model (steps and seconds of the whole run); `bfloat16`: the steps computed in it."""

    facts: Mapping[str, Any]
    bfloat16: bool


def finish(prepared: Prepared, fitted: Fitted, out: Path, log: Log) -> Artefact:
    """Measure the trained model on held-out text, else on the training's, and save it. Raises NotFiniteError."""
    module, recipe = prepared.module.eval(), prepared.recipe
    is_held_out, feed = prepared.held_out is not None, prepared.held_out or prepared.feed
    source, best = feed.source, feed.best
    if is_held_out:
        task = prepared.task.fitted(module, source, log)
        final = str(next(module.parameters()).dtype).removeprefix("torch.")
        _note_other_scores(len(source), "bfloat16" if fitted.bfloat16 else final, final, log)
    else:
        task = prepared.task
    own = task.evaluate(module, source, limit=_MEASURED_ROWS)
    _check_finite(best, own.flat())
    learned_from = prepared.feed.source
    found = task.beside(own, learned_from, source, limit=_MEASURED_ROWS, log=log) if is_held_out else own
    scores, judged = found.flat(), verdict(found, best)
    if said := not_above_a_baseline(best, scores, task.baseline_names) if judged is None else judged.sentence:
        log(said)
    metrics: dict[str, Any] = {
        "measured_on": "held-out text" if is_held_out else "the training text",
        "measured": _measured(source, recipe.data.length, tables=task_named(recipe.task.name).reads_tables),
        "scores": scores,
        "intervals": intervals_by_flat_name(found),
        "verdict": "" if judged is None else judged.sentence,
        **fitted.facts,
    }
    if prepared.teacher is not None:
        by = taught_by(prepared.teacher, prepared.task, source, held_out=is_held_out, limit=_MEASURED_ROWS)
        known = {"name": recipe.distil.teacher, "fingerprint": recipe.distil.fingerprint}
        metrics["teacher"] = {**known, **by}
    model = Artefact(
        module,
        prepared.tokenizer,
        task=task.section,  # with what was fitted on the held-out text; the recipe stays as the run began
        length=recipe.data.length,
        data=recipe.data,
        recipe=recipe,
        templates=task.templates,
        metrics={**metrics, **task.facts()},
        source=out,
    )
    model.card = write_card(model, out)
    store.write(out, model)
    return model


def _check_finite(best: str, scores: Mapping[str, float]) -> None:
    if not math.isfinite(better_if_higher(best, scores)):
        name = best.removeprefix("-")
        raise NotFiniteError(
            "a model to save needs finite numbers: its score after the last step is not",
            got=f"{name} {scores[name]}",
            do="train in another folder with a lower learning rate, a longer warm-up or precision float32",
        )


def _measured(source: Any, length: int, *, tables: bool) -> dict[str, Any]:
    """How much was measured, of how much there is, for the card: records of `tables`, or rows of `length` tokens."""
    there = len(getattr(source, "examples", source))  # of pairs, several stand in a row
    return {
        "count": min(there, _MEASURED_ROWS),
        "of": there,
        "unit": "records" if tables else f"rows of {length} tokens",
    }


def _note_other_scores(there: int, during: str, final: str, log: Log) -> None:
    """Log why the scores of the steps and of the end differ, for one model on one held-out text."""
    some, more = (min(there, rows) for rows in (EVALUATION_ROWS, _MEASURED_ROWS))
    if during != final or some < more:
        log(
            f"the scores of the end are measured anew, on {more:,} of {there:,} held-out examples in {final}; those of "
            f"the steps were measured on {some:,} of them in {during}, and may differ"
        )
