"""What a notebook shows of a model."""

from glassformer.base.html import page, table
from glassformer.saved.artefact import Artefact
from glassformer.saved.info import describe

# Labels that are named.
_LABELS = 8


def of_model(model: Artefact) -> str:
    """Its task, sizes, parameters by part, and its scores next to the baseline's."""
    facts = describe(model)
    rows = [("task", facts["task"] or "none"), ("parameters", f"{facts['parameters']['all']:,}")]
    for side, sizes in facts["sizes"].items():
        heads = f"{sizes['layers']} layers of width {sizes['width']}, {sizes['heads']} heads"
        rows.append((side, f"{heads}, positions: {sizes['positions']}"))
    if facts["tokenizer"] is not None:
        rows.append(("tokenizer", f"{facts['tokenizer']['tokens']:,} tokens"))
    rows.append(("reads at most", f"{facts['reads_at_once'] or 'any number of'} tokens"))
    if labels := facts["labels"]:
        rows.append(("labels", ", ".join(labels[:_LABELS]) + (" …" if len(labels) > _LABELS else "")))
    rows.append(("predicts", f"in {facts['prediction']['precision']} on {facts['prediction']['device']}"))
    if model.source is not None:
        rows.append(("folder", str(model.source)))
    scores = [
        (name.replace("_", " "), f"{value:,.4g}")
        for name, value in (facts["scores"] or {}).items()
        if isinstance(value, int | float)
    ]
    measured = f"measured on {model.metrics.get('measured_on', 'unknown text')}"
    return page(
        f"{facts['family']} model", table(rows), table(scores, head=("score", measured), right=(1,)) if scores else ""
    )
