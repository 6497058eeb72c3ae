"""The model card: what is known about a model, and what is unknown."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from glassformer import __version__
from glassformer.base.errors import GlassformerError
from glassformer.saved.artefact import Artefact
from glassformer.saved.info import describe, shown_labels
from glassformer.scoring.calibration import limit_of
from glassformer.scoring.score import interval, not_above_a_baseline
from glassformer.scoring.verdict import TOO_FEW
from glassformer.tasks import TASKS, VERBS, predictor_of, task_named, verb_of
from glassformer.text.tokenizer import MASK

_ANY_TEXT = f"A text with one {MASK} in it."


def example(model: Artefact) -> tuple[str, list[str]]:
    """A verb and what to give it: words of the model's vocabulary where it has no token for unknown words."""
    verb = "" if model.task is None else verb_of(model.task.name)
    if model.task is None or verb not in VERBS or not model.has_tokenizer:
        return "info", []
    kind = predictor_of(verb, model.task.name, model.config)
    texts, option = kind.sample, kind.sample_option
    if not texts:
        return "info", []
    if len(texts) == 1 and option and task_named(model.task.name).reads_pairs(model.data):
        texts *= 2
    if words := _only_words(model):
        masked = MASK in texts[0]
        texts = (*words, *words[:1] * len(texts))[: len(texts)]
        texts = (f"{texts[0]} {MASK}",) if masked else texts
    first, *others = texts
    return verb, [first, *(word for text in others for word in (option, text))]


def _only_words(model: Artefact) -> tuple[str, ...]:
    """The words that a model knows where it reads no others; () where it reads any text."""
    try:
        model.tokenizer.encode(_ANY_TEXT)
    except GlassformerError:
        special = model.tokenizer.special_ids
        return tuple(token for id_, token in enumerate(model.tokenizer.vocabulary()) if id_ not in special)
    return ()


# What the vector of a text is, by `SentenceHeadConfig.pooling`.
_POOLING = {
    "first": "the state of the first token (`first`)",
    "pooler": "the state of the first token, through a dense layer and its activation (`pooler`)",
    "mean": "the mean of the tokens' states (`mean`)",
    "mean_pooler": "the mean of the tokens' states, through a dense layer and its activation (`mean_pooler`)",
    "pair": "the means of both texts' states, their absolute difference and their product (`pair`)",
    "max": "the largest number of each channel of the tokens' states (`max`)",
}
_CARD = """\
# {title}

{opening}

## Data

{data}

## Size

{size}

## Scores

{scores}

## Limits

{limits}

## Use

```python
import glassformer as gf

model = gf.load({place})  # or the path of this folder
{use}
```
"""


def write_card(model: Artefact, folder: Path) -> str:
    """The card, in Markdown, of a model saved in that folder; it has the folder's name, not its path."""
    facts = describe(model)
    name = folder.resolve().name or facts["family"]
    family, count = facts["family"], f"{facts['parameters']['all']:,}"
    purpose = "" if model.task is None else f" of the task {model.task.name} ({TASKS[model.task.name].help}),"
    verb, words = example(model)
    return _CARD.format(
        title=name,
        place=json.dumps(name, ensure_ascii=False),
        opening=f"A {family} model of {count} parameters{purpose} made with glassformer {__version__}.",
        data="\n".join(_data(model)),
        size="\n".join([*_size(facts), *_trained(model), *_answers(model), *_saved(model)]),
        scores="\n".join(_scores(model)),
        limits="\n".join(f"* {limit}" for limit in _limits(model)),
        use=_use(verb, words, model),
    )


def _use(verb: str, words: list[str], model: Artefact) -> str:
    if model.task is None or verb not in VERBS:
        return "print(model.info())"
    first, *others = (json.dumps(word, ensure_ascii=False) for word in words if not word.startswith("--"))
    more = [f"[{', '.join(others)}]"] if "choices" in VERBS[verb].columns else others
    printed = model.task.card.printed
    given = ", ".join([first, *more])
    return f"print(model.{verb}({given}).{printed})" if VERBS[verb].method else f'print(model.ask("{verb}", {given}))'


def _data(model: Artefact) -> Iterator[str]:
    data = model.data
    if data is None:
        yield "* Not known: the model was not trained here."
        return
    yield f"* Files: {_names(data.files)}"
    yield f"* Licence: {data.licence or 'not stated'}"
    if data.validation_files:
        yield f"* Held out: {_names(data.validation_files)}"
    elif end := data.shares.get("end"):
        yield f"* Held out: the last {end:.0%} of the text"
    elif data.validation:
        yield f"* Held out: {data.validation:.2%} of the documents, chosen by a hash of their text (seed {data.seed})"
    else:
        yield "* Held out: nothing"
    if not any(map(os.path.isabs, data.files)):
        yield "* The text is not included with the model: give `evaluate` files"
        return
    yield "* `glassformer.json` and `recipe.toml` keep the full paths of these files: `evaluate` needs them"


def _size(facts: dict[str, Any]) -> Iterator[str]:
    parts = facts["parameters"]
    yield "| part | parameters |"
    yield "|---|---:|"
    for name, count in parts.items():
        yield f"| {name} | {count:,} |"


def _trained(model: Artefact) -> Iterator[str]:
    count = (model.metrics or {}).get("trained_parameters")
    if count is not None and model.recipe is not None:
        tune = model.recipe.tune.model_dump(exclude_defaults=True)
        yield ""
        yield f"Trained: {count:,} parameters ({_settings(tune)})."
    if model.recipe is not None and (start := model.recipe.model.start) is not None:
        yield ""
        yield f"Its training started from the weights of `{os.path.basename(start.rstrip('/'))}`."
    teacher = (model.metrics or {}).get("teacher")
    if teacher is not None:
        yield ""
        yield (
            f"A student of {os.path.basename(teacher['name'])}, a model of {teacher['layers']} layers and "
            f"{teacher['parameters']:,} parameters (fingerprint {teacher['fingerprint'][:16]})."
        )


def _settings(values: Mapping[str, Any], table: str = "tune") -> str:
    parts = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            parts.append(_settings(value, f"{table}.{name}") if value else f"{table}.{name}")
        else:
            shown = (
                ", ".join(value) if isinstance(value, tuple) else f"{value:g}" if isinstance(value, float) else value
            )
            parts.append(f"{table}.{name} = {shown}")
    return "; ".join(parts)


def _answers(model: Artefact) -> Iterator[str]:
    """The labels; how a sentence head makes one vector of a text, and how its probabilities are calibrated."""
    if model.labels:
        yield ""
        yield f"* Labels: {shown_labels(model.labels)}"
    if model.task is None or model.config.sentence_head is None:
        return
    yield ""
    yield f"* Sentence vector: {_POOLING[model.config.sentence_head.pooling]}"
    if model.config.sentence_head.words:
        yield "* Each token, and each pair of neighbours, adds to the scores of the encoder (`words`)"
    temperature = model.task.head_outputs.temperature
    if temperature != 1.0:
        limit = limit_of(temperature)
        doubt = f", {limit}" if limit else ""
        yield f"* Probabilities: calibrated on the held-out records, temperature {temperature:g}{doubt}"


def _saved(model: Artefact) -> Iterator[str]:
    kept = next(model.module.parameters()).dtype
    if kept != torch.float32:
        yield ""
        yield f"Saved in {str(kept).removeprefix('torch.')}; `gf.load` makes float32 of it to compute with."


def _scores(model: Artefact) -> Iterator[str]:
    scores = model.metrics.get("scores")
    if not isinstance(scores, dict) or not scores:
        yield "Not measured."
        return
    text, count = model.metrics.get("measured_on", "unknown text"), scores.get("targets") or 0
    yield f"Measured on {text}{_amount(model)}, {count:,.0f} targets."
    yield ""
    yield "| | score |"
    yield "|---|---:|"
    kind = task_named(model.measured_as.name)
    shares = (*kind.shares, *(f"{baseline}_{share}" for baseline in kind.baseline_names for share in kind.shares))
    intervals = model.metrics.get("intervals") or {}
    for name, value in scores.items():
        if name != "targets" and value is not None:
            cell = _shown(name, value, count if name in shares else None, intervals.get(name))
            yield f"| {name.replace('_', ' ')} | {cell} |"
    by = "by the bootstrap over the examples" if intervals else "of a share of independent trials (Wilson 1927)"
    if intervals or count >= TOO_FEW:
        yield ""
        yield f"In brackets: the 95 % interval, {by}."
    if judged := model.metrics.get("verdict"):
        yield ""
        yield f"{judged[0].upper()}{judged[1:]}."


def _amount(model: Artefact) -> str:
    """How much of which files was measured; "" for a model of a version that did not record it."""
    measured, data = model.metrics.get("measured"), model.data
    if not isinstance(measured, dict) or data is None:
        return ""
    try:
        count, there, unit = int(measured["count"]), int(measured["of"]), str(measured["unit"])
        long = int(measured.get("left_out", 0))
    except (KeyError, TypeError, ValueError):  # metrics.json may have been changed by hand
        return ""
    how_many = f"all {there:,} {unit}" if count == there else f"{count:,} of {there:,} {unit}"
    how_many += f" ({long:,} are too long)" if long else ""
    how_many += ", drawn at random," if count < there - long else ""
    held_out = model.metrics.get("measured_on") == "held-out text"
    if held_out and not data.validation_files:
        if end := data.shares.get("end"):
            return f": {how_many} of the last {end:.0%} of the text of {_names(data.files)}, which was held out"
        things = {"records": "records", "replies": "conversations"}.get(unit, "documents")
        return f": {how_many} of the {data.validation:.2%} of the {things} of {_names(data.files)} that were held out"
    return f": {how_many} of {_names(data.validation_files if held_out else data.files)}"


def _names(files: Sequence[str]) -> str:
    travels = not any(map(os.path.isabs, files))  # a model of the package names its files without a machine's folders
    names = list(files) if travels else [Path(file).name for file in files]
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _shown(name: str, value: float, count: float | None, measured: Sequence[float | None] | None = None) -> str:
    """A score with its interval: that which was measured, or that of a share of `count` targets."""
    bounds = interval(value, count) if count is not None and measured is None else measured
    form = "{:.1%}" if name.endswith("accuracy") else "{:.3e}" if 0 < abs(value) < 1e-3 else "{:,.3f}"
    few = measured is None and count is not None and count < TOO_FEW
    if few or bounds is None or None in bounds or (measured is None and not name.endswith("accuracy")):
        return form.format(value)
    return f"{form.format(value)} ({form.format(bounds[0])} … {form.format(bounds[1])})"


def _limits(model: Artefact) -> Iterator[str]:
    card = model.measured_as.card
    if model.length is not None:
        yield f"It reads rows of {model.length} tokens; longer texts are {card.cut}."
    if model.task is not None and card.limit:
        yield card.limit
    yield "It repeats what its text says, errors and prejudices included; its predictions are not facts."
    remembered = model.metrics.get("measured_on") == "the training text"  # also where held-out text cannot be used
    if model.data is not None and (remembered or not model.data.holds_out):
        yield "No held-out text was used: the scores measure how well it remembers its training text."
    elif model.data is not None:
        yield "The held-out text also chose the step that was kept: measure on other text with `glassformer evaluate`."
    if model.task is not None and not model.metrics.get("verdict"):
        kind = task_named(model.task.name)
        scores = model.metrics.get("scores") or {}
        if said := not_above_a_baseline(model.task.kept_by, scores, kind.baseline_names):
            yield f"**{said[0].upper()}{said[1:]}**"
