"""`train`: makes a saved model from a recipe."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from glassformer.base.errors import ConfigError, NotFiniteError
from glassformer.base.machine import is_one_of_several
from glassformer.base.paths import check_path
from glassformer.look.texts.watched import Sentences
from glassformer.run import seeds
from glassformer.run.card import write_card
from glassformer.run.first_weights import taught_by
from glassformer.run.prepare import Prepared, prepare_run
from glassformer.run.probe import with_frozen_probe
from glassformer.run.resuming import begin, check_same_run, recorded, remove_files_if_refused, would_replace
from glassformer.runtime.device import Log, choose_device, torch_restored
from glassformer.runtime.processes import Processes, Several, joined
from glassformer.runtime.sharing import Sharing
from glassformer.saved import store
from glassformer.saved.artefact import Artefact
from glassformer.saved.recipe import Recipe, read_saved_recipe, resolve, write_recipe
from glassformer.saved.store import CHECKPOINTS
from glassformer.scoring.score import not_above_a_baseline
from glassformer.scoring.verdict import intervals_by_flat_name, verdict
from glassformer.tasks import TASKS, VERBS, task_named
from glassformer.tasks.sentence_vectors import without_vectors_head
from glassformer.tasks.writing.pair_source import PairSource, measured_pairs
from glassformer.training.budget import EVALUATION_ROWS
from glassformer.training.checkpoint import Checkpoints, restore, weights
from glassformer.training.loop import fit
from glassformer.training.plan import Plan, plan
from glassformer.training.progress import ConsoleProgress, NoProgress, Progress
from glassformer.training.record import Step
from glassformer.training.run import better_if_higher
from glassformer.training.settings import TuneSection
from glassformer.training.state import check_shared
from glassformer.training.stopping import exclusive

# Enough masked words for an accuracy within about half a percent; `evaluate` measures on all.
_MEASURED_ROWS = 1024
# Rows that show a plan how long these take, and how many seconds these may be for it to measure them.
_FEW_ROWS, _MOST_SECONDS = 32, 20.0


@dataclass(frozen=True)
class Fitted:
    """`facts` are kept with the model (steps and seconds of the whole run); `bfloat16`: the steps computed in it."""

    facts: Mapping[str, Any]
    bfloat16: bool


def finish(prepared: Prepared, fitted: Fitted, out: Path, log: Log, rows: int | None = None) -> Artefact:
    """Measure the trained model on so many rows, held-out where there are any, and save it. Raises NotFiniteError."""
    recipe, rows = prepared.recipe, _MEASURED_ROWS if rows is None else rows
    module = without_vectors_head(prepared.module.eval()) if recipe.distil.vectors else prepared.module.eval()
    is_held_out, feed = prepared.held_out is not None, prepared.held_out or prepared.feed
    source, best, facts = feed.source, feed.best, fitted.facts
    if is_held_out:
        whole = prepared.task.completed(module, prepared.feed.source, source, log)
        facts, module = {**facts, **({"words": True} if whole is not module else {})}, whole
        task = prepared.task.fitted(module, source, log)
        final = str(next(module.parameters()).dtype).removeprefix("torch.")
        there = len(getattr(source, "examples", source))
        during = "bfloat16" if fitted.bfloat16 else final
        some, more = (min(there, rows) for rows in (EVALUATION_ROWS, _MEASURED_ROWS))
        if during != final or some < more:
            log(
                f"the final scores are measured again, on {more:,} of {there:,} held-out examples in {final}; those "
                f"during training were on {some:,} of them in {during}, and may differ"
            )
    else:
        task = prepared.task
    own = task.evaluate(module, source, limit=rows)
    _check_finite(best, own.flat())
    found = task.with_baselines(own, prepared.feed.source, source, limit=rows, log=log) if is_held_out else own
    if is_held_out:
        device = next(module.parameters()).device
        found = with_frozen_probe(
            found, out, recipe, task, lambda its, of: its.evaluate(of.to(device), source, limit=rows), log
        )
    scores, judged = found.flat(), verdict(found, best, facts)
    if said := not_above_a_baseline(best, scores, task.baseline_names) if judged is None else judged.sentence:
        log(said if is_held_out else f"{said}. Measured on the training text, as there is no held-out text to use")
    metrics: dict[str, Any] = {
        "measured_on": "held-out text" if is_held_out else "the training text",
        "measured": _measured(source, recipe, rows),
        "scores": scores,
        "intervals": intervals_by_flat_name(found),
        "verdict": "" if judged is None else judged.sentence,
        **facts,
    }
    if prepared.teacher is not None and not recipe.distil.vectors:
        by = taught_by(prepared.teacher, prepared.task, source, held_out=is_held_out, limit=rows)
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
        pooling=prepared.pooling,
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
            "the score after the last step must be finite",
            got=f"{name} {scores[name]}",
            do="train again in another folder, with a lower learning rate, a longer warm-up or precision float32",
        )


def _measured(source: Any, recipe: Recipe, limit: int) -> dict[str, Any]:
    """How much was measured, of how much there is, and how much is too long: records, replies, or rows of tokens."""
    there = len(getattr(source, "examples", source))  # of pairs, several stand in a row
    left_out = getattr(source, "left_out", 0)
    count = len(measured_pairs(source, limit)) if isinstance(source, PairSource) else min(there - left_out, limit)
    entry = task_named(recipe.task.name)
    unit = "replies" if any(VERBS[verb].turns for verb in entry.verbs.values()) else "records"
    unit = unit if entry.reads_tables else f"rows of {recipe.data.length} tokens"
    return {"count": count, "of": there, "unit": unit} | ({"left_out": left_out} if left_out else {})


def train(
    recipe: Recipe | Mapping[str, Any] | str | Path | None = None,
    *,
    out: str | Path,
    resume: bool = False,
    set: Mapping[str, object] | None = None,
    progress: Progress | None = None,
) -> Artefact:
    """Train a model as a recipe says and save it to the folder `out`; `api.train.train` documents the arguments. Raises
    a GlassformerError for what cannot be done, and `Interrupted` after Ctrl-C, with everything saved.

    Where torchrun has begun this process as one of several, all of them call this with the same arguments and get the
    same model; only the first shows progress and writes. Those that are begun again continue the run.
    """
    check_path(out, ConfigError, utf8=True)
    out = Path(out)
    progress = ConsoleProgress() if progress is None else progress
    resolved = resolve(recorded(out, resume=resume) if recipe is None else _of_task(recipe, set or {}), set)
    train_each = _train_seeds if resolved.train.seeds > 1 else _train_one
    if resolved.train.shard and is_one_of_several():  # before they are joined: none waits for one that is refused
        check_shared(resolved.train, resolved.tune, watched=bool(resolved.watch.sentences))
    with joined(resolved.train.device, Sharing if resolved.train.shard else Several) as processes:
        processes.check_same({"recipe": resolved.model_dump_json(), "folder": str(out), "--resume": str(resume)})
        progress = progress if processes.first else NoProgress()
        if processes.restarted:
            progress.note("a process was lost, and all were begun again: the run continues from its newest checkpoint")
        with torch.enable_grad(), torch_restored():
            return train_each(resolved, out, progress, processes, resume=resume or processes.restarted)


def _of_task(recipe: Recipe | Mapping[str, Any] | str | Path, changes: Mapping[str, object]) -> Any:
    """The name of a task's recipe, which depends on whether a model is started from; anything else as it is."""
    if not isinstance(recipe, str) or recipe not in TASKS or not isinstance(changes, Mapping):
        return recipe  # other changes than a mapping are refused by `resolve`
    starts = "model.start" in changes or ("distil.teacher" in changes and not changes.get("distil.vectors"))
    return TASKS[recipe].tuning if starts else TASKS[recipe].recipe


def _train_seeds(recipe: Recipe, out: Path, progress: Progress, processes: Processes, *, resume: bool) -> Artefact:
    """Train a model with each seed, or keep a finished one; the best has all scores in `metrics["seeds"]`."""
    known = read_saved_recipe(out)
    if known is not None:
        check_same_run(known, recipe, out, resume=resume)
    # What the recipe leaves open, each seed found by itself.
    left_open = {name for name in type(recipe.train).model_fields if known and getattr(known.train, name) is None}
    runs, best = {}, None
    kind = task_named(recipe.task.name)
    name = recipe.task.kept_by
    for seed in range(recipe.train.seeds):
        own = recipe.train.model_copy(update={"seed": seed, "seeds": 1})
        folder, its = out / seeds.folder(seed), recipe.model_copy(update={"train": own})
        if resume and seeds.is_finished(folder, its.train, left_open):
            model = store.read(folder, Artefact)
            progress.note(f"seed {seed} is finished: {folder}")
        else:
            progress.note(f"seed {seed} of {recipe.train.seeds}: {folder}")
            model = _train_one(its, folder, progress, processes, resume=resume and folder.exists())
        if seed == 0 and processes.first:  # so that all of them can be resumed; a run that is refused leaves nothing
            write_recipe(out, recipe, None)
        runs[seed] = model.metrics["scores"]
        best = model if seeds.Seeds(runs, name).best == seed else best
    found = seeds.Seeds(runs, name, kind.baseline_names)
    if processes.first:
        found.write(out)
    assert best is not None
    best.metrics = {**best.metrics, "seeds": found.to_dict()}
    return best


def _train_one(recipe: Recipe, out: Path, progress: Progress, processes: Processes, *, resume: bool) -> Artefact:
    """Begin or go on with the run in a folder, train to the end, and save the model there."""
    choose_device(recipe.train.device)
    if not processes.first:
        return _follow(recipe, out, processes)
    with remove_files_if_refused(out), exclusive(out):
        begun = begin(out, recipe, resume=resume, log=progress.note)
        prepared = prepare_run(begun.recipe, out, progress, tokenizer=begun.tokenizer)
        if begun.recorded is None:
            if other := prepared.tokenizer.replaces(out):
                raise would_replace(out, other)
            # A run that is stopped and resumed must find the same tokens and the same settings.
            prepared.tokenizer.save(out)
            if prepared.probe is not None:
                prepared.probe.save(out)
            write_recipe(out, prepared.recipe, prepared.tokenizer)
        changed = begun.recorded not in (None, prepared.recipe)
        processes.meet()
        fitted = _fit(prepared, out, progress, processes, resume=resume, changed=changed)
        model = finish(prepared, fitted, out, progress.note)
    processes.meet()
    return model


def _follow(recipe: Recipe, out: Path, processes: Processes) -> Artefact:
    """Train with the first process, from what it has written to the folder; returns the model that it saves."""
    processes.meet()
    begun = begin(out, recipe, resume=True, log=NoProgress().note)
    with TemporaryDirectory() as unread:
        data = begun.recipe.data
        if getattr(data, "rejects", None) is not None:  # the first process writes them
            data = data.model_copy(update={"rejects": str(Path(unread) / "rejects.jsonl")})
        prepared = prepare_run(
            begun.recipe.model_copy(update={"data": data}), out, NoProgress(), tokenizer=begun.tokenizer
        )
        for _ in _steps(prepared, out, NoProgress(), processes, resume=False):
            pass
    processes.meet()
    return store.read(out, Artefact)


def _steps(prepared: Prepared, out: Path, progress: Progress, processes: Processes, *, resume: bool) -> Iterator[Step]:
    processes.check_same({"text, and its order": prepared.feed.fingerprint})
    return fit(
        prepared.module, prepared.feed, prepared.recipe.train, tune=prepared.recipe.tune, out=out,
        held_out=prepared.held_out, resume=resume, log=progress.note,
        watched=_watched(prepared) if processes.first else None,
        start_seconds=prepared.start_seconds, processes=processes,
    )  # fmt: skip


def _fit(
    prepared: Prepared, out: Path, progress: Progress, processes: Processes, *, resume: bool, changed: bool
) -> Fitted:
    """Train to the end; `changed`: the run goes on with other settings than those that are written in its folder."""
    steps = _steps(prepared, out, progress, processes, resume=resume)
    for number, _ in enumerate(progress.training(steps)):
        if number == 0 and changed:  # from the first step on, the run uses these settings
            write_recipe(out, prepared.recipe, prepared.tokenizer)
    last = Checkpoints(out / CHECKPOINTS).newest()
    assert last is not None  # a run ends with a checkpoint
    progressed = last.facts["progress"]
    facts = {"steps": last.step, "seconds": round(progressed["seconds"], 1)}
    if progressed["best"] is not None:
        facts["best_step"] = progressed["best_step"]
    if prepared.recipe.tune != TuneSection():
        facts["trained_parameters"] = last.facts["trained_parameters"]
    return Fitted(facts, bfloat16=bool(last.facts["bfloat16"]))


def planned(recipe: Recipe, folder: Path, progress: Progress, began: float) -> Plan:
    """What a training would need, which began at this time of the monotonic clock; its files are in an empty folder."""
    prepared = prepare_run(recipe, folder, progress)
    checkpoints = Checkpoints(folder / CHECKPOINTS)

    def end() -> float:
        began, tensors = time.monotonic(), weights(prepared.module)
        checkpoints.save(0, {"model": tensors}, {}, kind="best")
        best = checkpoints.best()
        assert best is not None
        restore(tensors, best.tensors("model"), what="the model")
        source = (prepared.held_out or prepared.feed).source
        few = time.monotonic()
        prepared.task.evaluate(prepared.module, source, limit=_FEW_ROWS)
        few = time.monotonic() - few
        more = few * (min(len(getattr(source, "examples", source)), _MEASURED_ROWS) / _FEW_ROWS - 1)
        slow = more > _MOST_SECONDS  # such as what writes
        with suppress(NotFiniteError):  # of a model that has learned nothing
            finish(
                prepared, Fitted({}, bfloat16=False), folder, lambda said: None, _FEW_ROWS if slow else _MEASURED_ROWS
            )
        return time.monotonic() - began - few + (more if slow else 0.0)

    return plan(
        prepared.module, prepared.feed, recipe.train, tune=recipe.tune, held_out=prepared.held_out, end=end,
        began=began, probe_seconds=prepared.start_seconds or 0.0, log=progress.note,
    )  # fmt: skip


def _watched(prepared: Prepared) -> Sentences | None:
    """The sentences to watch, None where there are none. Raises DataError for one that the model cannot answer."""
    data, sentences = prepared.recipe.data, prepared.recipe.watch.sentences
    if not sentences:
        return None
    model = Artefact(
        prepared.module, prepared.tokenizer, task=prepared.task.section, length=data.length, data=data,
        templates=prepared.task.templates,
    )  # fmt: skip
    return Sentences(model, sentences)
