"""The model card that is written for the user: what is known, and plainly what is not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from glassformer.artefact.artefact import Artefact
from glassformer.errors import GlassformerError
from glassformer.text.tokenizer import MASK

_EXAMPLE = f"A text with one {MASK} in it."
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

model = gf.load({place})
{use}
```
"""


def write_card(model: Artefact, folder: Path) -> str:
    """The card, in Markdown, of a model saved in that folder; it tells the folder's name, and not where it is."""
    from glassformer import __version__

    facts = model.info()
    name = folder.resolve().name or facts["family"]
    family, count = facts["family"], f"{facts['parameters']['all']:,}"
    purpose = " that guesses hidden words" if model.task is not None else ""
    return _CARD.format(
        title=name,
        place=json.dumps(name, ensure_ascii=False),
        opening=f"A {family} model of {count} parameters{purpose}, made with glassformer {__version__}.",
        data="\n".join(_data(model)),
        size="\n".join(_size(facts)),
        scores="\n".join(_scores(model)),
        limits="\n".join(f"* {limit}" for limit in _limits(model)),
        use=f"print(model.fill({json.dumps(example(model), ensure_ascii=False)}).filled)"
        if model.task is not None and model.has_tokenizer
        else "print(model.info())",
    )


def example(model: Artefact) -> str:
    """A text with a hidden word that can be tried: in the model's own words where it has no piece for others."""
    try:
        model.tokenizer.encode(_EXAMPLE)
    except GlassformerError:
        special = model.tokenizer.special_ids
        known = [piece for id_, piece in enumerate(model.tokenizer.vocabulary()) if id_ not in special]
        return " ".join([*known[:1], MASK])
    return _EXAMPLE


def _data(model: Artefact) -> Iterator[str]:
    data = model.data
    if data is None:
        yield "* Not known: the model was not trained here."
        return
    names = [Path(file).name for file in data.files]
    shown = ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
    yield f"* Files: {shown}"
    yield f"* Licence: {data.licence or 'not stated'}"
    if data.validation_files:
        yield f"* Held out: {', '.join(Path(file).name for file in data.validation_files)}"
    elif data.validation:
        yield f"* Held out: {data.validation:.2%} of the documents, chosen by a hash of their text (seed {data.seed})"
    else:
        yield "* Held out: nothing"
    yield "* `glassformer.json` and `recipe.toml` keep the whole paths of these files: `evaluate` needs them"


def _size(facts: dict[str, Any]) -> Iterator[str]:
    parts = facts["parameters"]
    yield "| part | parameters |"
    yield "|---|---:|"
    for name, count in parts.items():
        yield f"| {name} | {count:,} |"


def _scores(model: Artefact) -> Iterator[str]:
    scores = model.metrics.get("scores")
    if not scores:
        yield "Not measured."
        return
    text = model.metrics.get("measured_on", "text not told")
    yield f"Measured on {text}, {scores.get('targets', 0):,.0f} hidden pieces."
    yield ""
    yield "| | loss | perplexity | accuracy |"
    yield "|---|---:|---:|---:|"
    for name, prefix in (("this model", ""), ("always the most frequent piece (unigram)", "unigram_")):
        if f"{prefix}loss" in scores:
            loss, perplexity, accuracy = (scores[f"{prefix}{kind}"] for kind in ("loss", "perplexity", "accuracy"))
            low, high = interval(accuracy, scores.get("targets", 0))
            yield f"| {name} | {loss:.3f} | {perplexity:.1f} | {accuracy:.1%} ({low:.1%} … {high:.1%}) |"
    yield ""
    yield "In brackets: the 95 % interval of an accuracy counted on so many pieces (Wilson)."


def interval(share: float, count: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share of `count` independent trials (Wilson 1927)."""
    if not count:
        return 0.0, 1.0
    z = 1.959964
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * (share * (1 - share) / count + z * z / (4 * count * count)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def _limits(model: Artefact) -> Iterator[str]:
    if model.length is not None:
        yield f"It has learned from rows of {model.length} pieces; longer texts are read in overlapping windows."
    if model.task is not None:
        yield "Several hidden words are guessed independently of one another."
    yield "It repeats what its text says, errors and prejudices included; its guesses are no facts."
    if model.data is not None and not (model.data.validation or model.data.validation_files):
        yield "No text was held out: the scores say how well it remembers, not how well it will do."
    loss, blind = (model.metrics.get("scores", {}).get(name) for name in ("loss", "unigram_loss"))
    if loss is not None and blind is not None and loss >= blind:
        yield "**Not better than the baseline**: it has not learned to use the context."
