"""The README of an exported folder: the lines that run its graph in onnxruntime, without glassformer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from glassformer.convert.onnx.heads import ExportedHead
from glassformer.convert.onnx.network import SEGMENTS, inputs_of
from glassformer.saved.artefact import Artefact
from glassformer.tasks import task_named

# What is made of the outputs, by the head; of one for a text by what it answers.
_READ = {
    "masked words": (
        "scores for each token of the vocabulary; the guess for a masked token is the largest",
        'mask = [row.index(tokenizer.token_to_id({mask!r})) for row in feed["input_ids"].tolist()]\n'
        "print([tokenizer.id_to_token(int(logits[row, place].argmax())) for row, place in enumerate(mask)])",
    ),
    "masked words and sentence": (
        "scores for each token of the vocabulary, and for the labels of a pair of texts",
        "print(seq_relationship_logits.argmax(axis=1))",
    ),
    "probabilities": (
        "a score for each label; the largest is the answer",
        "print([LABELS[row.argmax()] for row in logits])",
    ),
    "chosen": (
        "a score for each label; a text has those whose sigmoid is at least {threshold:g}",
        "print([[LABELS[k] for k, x in enumerate(row) if 1 / (1 + np.exp(-x)) >= {threshold:g}] for row in logits])",
    ),
    "number": ("the number", "print(logits[:, 0])"),
    "candidates": (
        "a score for each row; the rows of a text are the text with each candidate, and the largest is the answer",
        "print(logits[:, 0].argmax())",
    ),
    "token": (
        "scores of the tags for each token; that of a word is the largest of its first token",
        "print([[LABELS[k] for k in row.argmax(axis=1)] for row in logits])",
    ),
    "span": (
        "scores of each token to be the first and the last of the answer, in the passage; the best sum is the answer",
        "print(start_logits.argmax(axis=1), end_logits.argmax(axis=1))",
    ),
    "features": (
        "`last_hidden_state` for each token, and one vector of them for each text (`sentence_embedding`)",
        "print(sentence_embedding.shape)",
    ),
    "": ("the scores of the sentence's labels", "print(logits)"),
}
_CARD = """\
# {title}

{what}.

```sh
pip install onnxruntime tokenizers
```

```python
{code}
```

* Inputs, all int64 and [batch, sequence]: {inputs}.
* Outputs: {outputs}: {meaning}.
* {longest}.
* `export.json` says the same to a program, and what was checked; `config.json`, if there is one, is for transformers.
{more}"""


def write_card(model: Artefact, head: ExportedHead, files: Sequence[str], told: Sequence[str], title: str) -> str:
    """The README of the graph `files[0]`; `told` are sentences about what stays behind."""
    kind = kind_of(model, head)
    meaning, read = _READ[kind]
    values = {"mask": model.tokenizer.special.mask, "threshold": getattr(model.task, "threshold", 0.5)}
    names = ", ".join(answer.name for answer in head.answers)
    outputs = ", ".join(f"`{answer.name}` [{', '.join(answer.axes)}]" for answer in head.answers)
    segmented = SEGMENTS in inputs_of(model.config)
    more = (
        [
            f"* `{files[1]}` is the same with matrices of 8 bits. Its answers depend on what shares the batch, as all "
            "numbers of a batch are rounded by one scale: where they must not, run one text at a time."
        ]
        if len(files) > 1
        else []
    )
    more += [f"* {sentence[0].upper()}{sentence[1:]}." for sentence in told]
    lines = [
        "import numpy as np, onnxruntime, tokenizers",
        "",
        *(f"LABELS = {json.dumps(list(model.labels), ensure_ascii=False)}" for _ in range("LABELS" in read)),
        'tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")',
        _padding(model),
        *([f"tokenizer.enable_truncation({model.row_tokens})"] if model.row_tokens is not None else []),
        f'session = onnxruntime.InferenceSession("{files[0]}")',
        f"found = tokenizer.encode_batch({_texts(model, kind)})",
        'feed = {"input_ids": np.array([each.ids for each in found], np.int64)}',
        'feed["attention_mask"] = np.array([each.attention_mask for each in found], np.int64)',
        *([f'feed["{SEGMENTS}"] = np.array([each.type_ids for each in found], np.int64)'] if segmented else []),
        f"{names}{',' if len(head.answers) == 1 else ''} = session.run(None, feed)",
        read.format(**values),
    ]
    return _CARD.format(
        title=title,
        what=f"An encoder ({model.config.family}) of glassformer as a graph for onnxruntime{_reads(model)}",
        code="\n".join(lines),
        inputs=", ".join(f"`{name}`" for name in inputs_of(model.config)),
        outputs=outputs,
        meaning=meaning.format(**values),
        longest="A text may have any number of tokens"
        if model.row_tokens is None
        else f"At most {model.row_tokens:,} tokens; a longer text is cut, or read in windows",
        more="\n".join([*more, ""]),
    )


def kind_of(model: Artefact, head: ExportedHead) -> str:
    """How the outputs are read: the head, and of one for a text what it answers."""
    if head.name != "sentence":
        return head.name
    if model.task is None:
        return ""
    task = task_named(model.task.name)
    if task.head_use == "candidates":
        return task.head_use
    printed = model.task.card.printed
    return printed if model.labels or printed == "number" else ""


def facts(model: Artefact, head: ExportedHead) -> Mapping[str, Any]:
    """What a program needs to know of the graph."""
    return {
        "family": model.config.family,
        "task": model.task_name,
        "head": head.name,
        "labels": list(model.labels),
        "threshold": getattr(model.task, "threshold", None),
        "inputs": {name: ["batch", "sequence"] for name in inputs_of(model.config)},
        "outputs": {answer.name: list(answer.axes) for answer in head.answers},
        "longest": model.row_tokens,
        "pad_id": model.tokenizer.pad_id or 0,
    }


def _reads(model: Artefact) -> str:
    """How a text is written for it, where that has to be said."""
    mask = model.tokenizer.special.mask
    return f". A masked word is written {mask}" if model.config.head is not None and mask is not None else ""


def _padding(model: Artefact) -> str:
    pad = model.tokenizer.special.pad
    if pad is None:
        return "tokenizer.enable_padding(pad_id=0)"
    return f"tokenizer.enable_padding(pad_id={model.tokenizer.pad_id}, pad_token={json.dumps(pad)})"


def _texts(model: Artefact, kind: str) -> str:
    """Texts that such a model reads."""
    pairs = kind == "masked words and sentence"
    pairs |= model.task is not None and kind != "features" and task_named(model.task.name).reads_pairs(model.data)
    if kind == "masked words":
        mask = model.tokenizer.special.mask
        return json.dumps([f"She {mask} the summer.", f"The train left the {mask} two hours late."], ensure_ascii=False)
    if kind == "span":
        return '[("Where is Rouen?", "Rouen is a city in Normandy.")]'
    if kind == "candidates":
        return '[("Shall we go?", "Yes, please."), ("Shall we go?", "It is blue.")]'
    return '[("Two dogs run.", "A man sleeps.")]' if pairs else '["Two dogs run.", "A man sleeps on the train."]'
