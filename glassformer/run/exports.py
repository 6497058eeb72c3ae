"""The formats that a model can be exported to; a graph is compared with the model before it is put in its place."""

import contextlib
import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import torch

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import CheckpointError, ConfigError, did_you_mean, from_system
from glassformer.base.paths import check_path
from glassformer.convert.heads import without_crf
from glassformer.convert.huggingface import describe, write_json, write_tokenizer_of
from glassformer.convert.onnx.graph import OPSET
from glassformer.convert.onnx.heads import FEATURES, ExportedHead, head_of
from glassformer.convert.onnx.network import SEGMENTS, Network, inputs_of, treats_masks, write_graph
from glassformer.convert.onnx.session import Session, needs_onnx, write_int8
from glassformer.models.transformer import Transformer
from glassformer.run.onnx_check import Check, Checked, Int8Loss, Score
from glassformer.saved.artefact import Artefact
from glassformer.saved.foreign import rescaled, use_of, write_foreign
from glassformer.tasks import task_named
from glassformer.tasks.settings import HeadOutputs
from glassformer.training.progress import NoProgress, Progress

# What is made of the outputs, by the head; of one for a text its task says it.
_READ = {
    "masked words": (
        "scores for each token of the vocabulary; the prediction for a masked token is the largest",
        'mask = [row.index(tokenizer.token_to_id({mask})) for row in feed["input_ids"].tolist()]\n'
        "print([tokenizer.id_to_token(int(logits[row, place].argmax())) for row, place in enumerate(mask)])",
    ),
    "masked words and sentence": (
        "scores for each token of the vocabulary, and for the labels of a pair of texts",
        "print(seq_relationship_logits.argmax(axis=1))",
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
* `export.json` has the same facts for programs, and what was checked; `config.json`, if present, is for transformers.
{more}"""


def write_card(model: Artefact, head: ExportedHead, files: Sequence[str], remarks: Sequence[str], title: str) -> str:
    """The README of the graph `files[0]`; `remarks` are sentences about what is not exported."""
    meaning, read = _READ.get(head.name) or _of_sentence(model)
    names = ", ".join(answer.name for answer in head.answers)
    outputs = ", ".join(f"`{answer.name}` [{', '.join(answer.axes)}]" for answer in head.answers)
    segmented = SEGMENTS in inputs_of(model.config)
    cases = "  # but the cases of words, see below" if model.task is not None and model.task.beyond_transformers else ""
    more = (
        [
            f"* `{files[1]}` is the same with 8-bit matrices. Its answers depend on the other texts of a batch, as "
            f"one scale rounds all numbers of a batch: to avoid this, run one text at a time."
        ]
        if len(files) > 1
        else []
    )
    more += [f"* {sentence[0].upper()}{sentence[1:]}." for sentence in remarks]
    lines = [
        "import numpy as np, onnxruntime, tokenizers",
        "",
        *(f"LABELS = {json.dumps(list(model.labels), ensure_ascii=False)}" for _ in range("LABELS" in read)),
        'tokenizer = tokenizers.Tokenizer.from_file("tokenizer.json")',
        _padding(model),
        *([f"tokenizer.enable_truncation({model.row_tokens})"] if model.row_tokens is not None else []),
        f'session = onnxruntime.InferenceSession("{files[0]}")',
        f"found = tokenizer.encode_batch({_texts(model, head)})",
        'feed = {"input_ids": np.array([each.ids for each in found], np.int64)}',
        'feed["attention_mask"] = np.array([each.attention_mask for each in found], np.int64)',
        *([f'feed["{SEGMENTS}"] = np.array([each.type_ids for each in found], np.int64){cases}'] if segmented else []),
        f"{names}{',' if len(head.answers) == 1 else ''} = session.run(None, feed)",
        read.replace("{mask}", repr(model.tokenizer.special.mask)),
    ]
    return _CARD.format(
        title=title,
        what=f"An encoder ({model.config.family}) of glassformer as a graph for onnxruntime{_reads(model)}",
        code="\n".join(lines),
        inputs=", ".join(f"`{name}`" for name in inputs_of(model.config)),
        outputs=outputs,
        meaning=meaning,
        longest="A text may have any number of tokens"
        if model.row_tokens is None
        else f"At most {model.row_tokens:,} tokens; cut a longer text, or read it in windows",
        more="\n".join([*more, ""]),
    )


def _of_sentence(model: Artefact) -> tuple[str, str]:
    """What the task makes of the outputs for a text; labels without names are not read."""
    outputs = HeadOutputs() if model.task is None else model.task.head_outputs
    if "LABELS" in outputs.code and not model.labels:
        outputs = HeadOutputs()
    return outputs.meaning, outputs.code


def facts(model: Artefact, head: ExportedHead) -> Mapping[str, Any]:
    return {
        "family": model.config.family,
        "task": model.task_name,
        "head": head.name,
        "labels": list(model.labels),
        "threshold": None if model.task is None else model.task.head_outputs.threshold,
        "inputs": {name: ["batch", "sequence"] for name in inputs_of(model.config)},
        "outputs": {answer.name: list(answer.axes) for answer in head.answers},
        "longest": model.row_tokens,
        "pad_id": model.tokenizer.pad_id or 0,
    }


def _reads(model: Artefact) -> str:
    mask = model.tokenizer.special.mask
    return f". A masked word is written {mask}" if model.config.head is not None and mask is not None else ""


def _padding(model: Artefact) -> str:
    pad = model.tokenizer.special.pad
    if pad is None:
        return "tokenizer.enable_padding(pad_id=0)"
    return f"tokenizer.enable_padding(pad_id={model.tokenizer.pad_id}, pad_token={json.dumps(pad)})"


def _texts(model: Artefact, head: ExportedHead) -> str:
    pairs, kind = head.name == "masked words and sentence", head.name
    task = None if model.task is None or kind == "features" else task_named(model.task.name)
    pairs |= task is not None and task.reads_pairs(model.data)
    if kind == "masked words":
        mask = model.tokenizer.special.mask
        return json.dumps([f"She {mask} the summer.", f"The train left the {mask} two hours late."], ensure_ascii=False)
    if kind == "span":
        return '[("Where is Rouen?", "Rouen is a city in Normandy.")]'
    if task is not None and task.head_use == "candidates":
        return '[("Shall we go?", "Yes, please."), ("Shall we go?", "It is blue.")]'
    return '[("Two dogs run.", "A man sleeps.")]' if pairs else '["Two dogs run.", "A man sleeps on the train."]'


GRAPH, INT8, FACTS, CARD = "model.onnx", "model_int8.onnx", "export.json", "README.md"


@dataclass(frozen=True)
class ExportOptions:
    """What an export may have: `features`, the states and the vector of a text by `pooling` (None: the model's own), in
    place of the answers of the head; `int8`, a graph with matrices of 8 bits too; `texts` that are compared, labelled
    `data` to be scored on.
    """

    features: bool = False
    pooling: str | None = None
    int8: bool = False
    texts: Sequence[str] = ()
    data: Sequence[str | Path] = ()

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(field.name for field in fields(self) if getattr(self, field.name) != field.default)


@dataclass(frozen=True)
class OnnxExport:
    """What was written and how it was checked; `bytes` of each graph; `left_behind`: what it lacks, in words."""

    head: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    nodes: int
    bytes: Mapping[str, int]
    checked: Checked
    int8: Int8Loss | None = None
    scores: tuple[Score, ...] = ()
    left_behind: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def write_onnx(model: Artefact, directory: Path, options: ExportOptions, progress: Progress) -> OnnxExport:
    """Write a folder with the graph of an encoder in float32, its tokenizer, its labels and a README; it is whole, with
    numbers that agree with the model's, or absent. Raises MissingExtraError without onnx and onnxruntime, ConfigError
    for a decoder, CheckpointError for a folder that is not empty and a graph that does not give what the model gives.
    """
    head = head_of(model.config, only_features=options.features, pooling=options.pooling or model.pooling)
    needs_onnx()
    model.needs_weights("an export")
    refuse_full(directory)
    exported, left = _as_exported(model, head)
    if treats_masks(exported.module.config) and exported.tokenizer.mask_id is None:
        raise ConfigError(
            "a graph knows masked words by a mask token", got="a tokenizer without one", do="export it to huggingface"
        )
    check = Check(exported, head, options.texts)
    measured = check.own_scores(options.data, progress) if options.data else None
    network = Network(exported.module, head, mask_id=exported.tokenizer.mask_id)
    with from_system(CheckpointError, f"cannot write {directory}"):
        directory.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(directory) as draft:
            draft.mkdir()
            nodes = write_graph(draft / GRAPH, network, notes={"task": str(exported.task_name), "head": head.name})
            progress.note(f"the graph is written ({nodes} nodes): comparing it with the model")
            session = Session(draft / GRAPH)
            checked = check.checked(session)
            sessions, lost = [session], None
            if options.int8:
                progress.note("rounding matrices to 8 bits")
                write_int8(draft / GRAPH, draft / INT8)
                sessions.append(Session(draft / INT8))
                lost = check.lost(*sessions)
            scores = [] if measured is None else check.scores(measured, options.data, sessions, progress)
            report = OnnxExport(
                head.name, session.inputs, session.outputs, nodes, _bytes(draft), checked, lost,
                tuple(scores), left,
            )  # fmt: skip
            write_tokenizer_of(draft, exported.config, exported.tokenizer, exported.length)
            write_json(draft / FACTS, {**report.to_dict(), **facts(exported, head), "opset": OPSET})
            with contextlib.suppress(ConfigError):  # a model that transformers has no class for
                state = dict(exported.module.named_parameters())
                described = describe(
                    exported.config, state, exported.tokenizer, token_settings=exported.token_settings,
                    use=use_of(exported), length=exported.length,
                )  # fmt: skip
                write_json(draft / "config.json", described.settings)
            text = write_card(exported, head, list(report.bytes), report.left_behind, directory.name)
            (draft / CARD).write_text(text, encoding="utf-8")
    return report


def refuse_full(directory: Path) -> None:
    """Raise CheckpointError where an export would be among other files: a folder is whole or absent."""
    check_path(directory, CheckpointError, utf8=True)
    if directory.is_dir() and any(directory.iterdir()):
        got = f"{directory}, which holds {sorted(path.name for path in directory.iterdir())[0]}"
        raise CheckpointError("an export to ONNX needs an empty or a new folder", got=got, do="choose another folder")
    if directory.exists() and not directory.is_dir():
        raise CheckpointError("an export needs a folder", got=f"the file {directory}", do="choose another path")


def _as_exported(model: Artefact, head: ExportedHead) -> tuple[Artefact, tuple[str, ...]]:
    """The model in float32 on the processor, its task's rescaling in the last layer; and what is left out."""
    left = []
    config = without_crf(model.config)
    if config != model.config and head.name != FEATURES:
        left.append("the CRF's transition scores are not exported: the graph labels each token independently")
    state = {name: value.detach().cpu() for name, value in model.module.named_parameters()}
    state |= rescaled(model.task, state)
    with torch.device("meta"):
        module = Transformer(config)
    kept = {name: state[name].float() for name, _ in module.named_parameters()}
    module.load_state_dict(kept, assign=True)
    exported = copy.copy(model)
    exported.module, exported._fast = module.eval(), False
    if head.name != FEATURES and model.task is not None:
        exported.task = model.task.in_last_layer()
        left += model.task.not_exported
    return exported, tuple(left)


def _bytes(folder: Path) -> dict[str, int]:
    return {
        name: sum(path.stat().st_size for path in folder.glob(f"{name}*"))
        for name in (GRAPH, INT8)
        if (folder / name).exists()
    }


class Export(NamedTuple):
    """A folder that was written: its format, what is not exported, in sentences, and what an export to ONNX found."""

    folder: Path
    format: str
    left_behind: tuple[str, ...]
    onnx: OnnxExport | None = None


FORMATS = ("huggingface", "onnx")


def export(
    model: Artefact, folder: str | Path, to: str, options: ExportOptions, progress: Progress | None = None
) -> Export:
    """Write a model in a format; raises ConfigError for an unknown format or option."""
    if to not in FORMATS:
        raise ConfigError(f"there is no format {to!r}", do=did_you_mean(to, FORMATS))
    folder = Path(folder)
    if to == "onnx":
        found = write_onnx(model, folder, options, progress or NoProgress())
        return Export(folder, to, found.left_behind, found)
    if options.chosen:
        wanted = f"{options.chosen[0]} is an option of an export to onnx"
        raise ConfigError(wanted, got=f"an export to {to}", do="leave it out")
    return Export(folder, to, write_foreign(model, folder))
