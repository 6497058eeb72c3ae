"""A model as a folder for onnxruntime: written, checked, and only then put in its place."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from glassformer.base.atomic import atomic_write
from glassformer.base.errors import CheckpointError, ConfigError
from glassformer.base.paths import check_path
from glassformer.convert.heads import without_crf
from glassformer.convert.huggingface import describe, write_tokenizer_of
from glassformer.convert.onnx.graph import OPSET
from glassformer.convert.onnx.heads import FEATURES, ExportedHead, head_of
from glassformer.convert.onnx.network import Network, write_graph
from glassformer.convert.onnx.session import Session, needs_onnx
from glassformer.convert.onnx.smaller import write_int8
from glassformer.convert.tokenizer_files import write_json
from glassformer.models.transformer import Transformer
from glassformer.run.onnx_card import facts, write_card
from glassformer.run.onnx_check import Check, Checked, Int8Loss, Score
from glassformer.saved.artefact import Artefact
from glassformer.saved.foreign import applied_after, rescaled, use_of
from glassformer.tasks.settings import TaskSection
from glassformer.training.progress import Progress

GRAPH, INT8, FACTS, CARD = "model.onnx", "model_int8.onnx", "export.json", "README.md"


@dataclass(frozen=True)
class OnnxExport:
    """What was written and how it was checked. `bytes` are those of each graph; `left_behind` are sentences."""

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


def write_onnx(
    model: Artefact,
    directory: str | Path,
    *,
    features: bool = False,
    pooling: str = "mean",
    int8: bool = False,
    texts: Sequence[str] = (),
    data: Sequence[str | Path] = (),
    progress: Progress,
) -> OnnxExport:
    """Write a folder with the graph of an encoder in float32, its tokenizer, its labels and a README; it is whole, with
    numbers that agree with the model's, or absent.

    `features`: states and the vector of a text by `pooling`, in place of the answers of the head. `int8` adds a graph
    with matrices of 8 bits. `texts` are what is compared; labelled `data` is what both are scored on.

    Raises MissingExtraError without onnx and onnxruntime, ConfigError for a decoder, CheckpointError for a folder that
    is not empty and for a graph that does not give what the model gives.
    """
    head = head_of(model.config, only_features=features, pooling=pooling)
    needs_onnx()
    model.needs_weights("an export")
    directory = refuse_full(directory)
    exported, left = _as_exported(model, head)
    check = Check(exported, head, texts)
    measured = check.own_scores(data, progress) if data else None
    network = Network(exported.module, head, mask_id=exported.tokenizer.mask_id)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(directory) as draft:
            draft.mkdir()
            written = write_graph(draft / GRAPH, network, notes={"task": str(exported.task_name), "head": head.name})
            progress.note(f"the graph is written ({written.nodes} nodes): comparing it with the model")
            session = Session(draft / GRAPH)
            checked = check.checked(session)
            sessions, lost = [session], None
            if int8:
                progress.note("rounding matrices to 8 bits")
                write_int8(draft / GRAPH, draft / INT8)
                sessions.append(Session(draft / INT8))
                lost = check.lost(*sessions)
            scores = [] if measured is None else check.scores(measured, data, sessions, progress)
            report = OnnxExport(
                head.name,
                session.inputs,
                session.outputs,
                written.nodes,
                _bytes(draft),
                checked,
                lost,
                tuple(scores),
                left,
            )
            _write_beside(draft, exported, head, report, directory.name)
    except OSError as error:
        raise CheckpointError(f"{directory} must be written", got=error.strerror or str(error)) from None
    return report


def refuse_full(directory: str | Path) -> Path:
    """Raise CheckpointError where an export would stand among other files: a folder is whole or absent."""
    check_path(directory, CheckpointError, utf8=True)
    directory = Path(directory)
    if directory.is_dir() and any(directory.iterdir()):
        got = f"{directory}, which holds {sorted(path.name for path in directory.iterdir())[0]}"
        raise CheckpointError("an export to ONNX needs an empty or a new folder", got=got, do="choose another folder")
    if directory.exists() and not directory.is_dir():
        raise CheckpointError("an export needs a folder", got=f"the file {directory}", do="choose another path")
    return directory


def _as_exported(model: Artefact, head: ExportedHead) -> tuple[Artefact, tuple[str, ...]]:
    """The model in float32 on the processor, its task's rescaling in the last layer; and what stays behind."""
    left = []
    config = without_crf(model.config)
    if config != model.config and head.name != FEATURES:
        left.append(
            "the CRF's scores of label after label stay behind: the graph is its tagger, which labels each token alone"
        )
    state = {name: value.detach().cpu() for name, value in model.module.named_parameters()}
    state |= rescaled(model.task, state)
    with torch.device("meta"):
        module = Transformer(config)
    kept = {name: state[name].float() for name, _ in module.named_parameters()}
    module.load_state_dict(kept, assign=True)
    exported = copy.copy(model)
    exported.module, exported._fast = module.eval(), False
    exported.task = model.task if head.name == FEATURES else _neutral(model.task)
    if head.name != FEATURES:
        left += applied_after(model.task)
    return exported, tuple(left)


def _neutral(section: TaskSection | None) -> TaskSection | None:
    """The task of a model whose scores are what they mean."""
    if section is None:
        return None
    usual = {"temperature": 1.0, "mean": 0.0, "deviation": 1.0}
    changed = {name: value for name, value in usual.items() if getattr(section, name, None) not in (None, value)}
    return section.model_copy(update=changed)


def _bytes(folder: Path) -> dict[str, int]:
    return {
        name: sum(path.stat().st_size for path in folder.glob(f"{name}*"))
        for name in (GRAPH, INT8)
        if (folder / name).exists()
    }


def _write_beside(folder: Path, model: Artefact, head: ExportedHead, report: OnnxExport, title: str) -> None:
    write_tokenizer_of(folder, model.config, model.tokenizer, model.length)
    write_json(folder / FACTS, {**report.to_dict(), **facts(model, head), "opset": OPSET})
    with contextlib.suppress(ConfigError):  # a model that transformers has no class for
        state = dict(model.module.named_parameters())
        described = describe(
            model.config,
            state,
            model.tokenizer,
            token_settings=model.token_settings,
            use=use_of(model),
            length=model.length,
        )
        write_json(folder / "config.json", described.settings)
    text = write_card(model, head, list(report.bytes), report.left_behind, title)
    (folder / CARD).write_text(text, encoding="utf-8")
