"""A graph that runs in onnxruntime, in the place of the model it was made from.

B sentences · S tokens · A asked tokens
"""

import logging
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from glassformer.base.errors import CheckpointError, MissingExtraError
from glassformer.convert.onnx.heads import ExportedHead
from glassformer.convert.onnx.network import IDS, REAL, SEGMENTS
from glassformer.models.inputs import Inputs, Output
from glassformer.models.transformer import Transformer
from glassformer.parts.cache import KeyValueCache
from glassformer.tasks.rows import Row


def needs_onnx(packages: Sequence[str] = ("onnx", "onnxruntime")) -> None:
    """Raise MissingExtraError without these packages; a finished graph needs no onnx (0.1 s of import)."""
    for package in packages:
        try:
            __import__(package)
        except ImportError:
            raise MissingExtraError(package, extra="onnx") from None


class Session:
    """A graph in a file, run on the processor with as many threads as torch has."""

    def __init__(self, path: Path) -> None:
        needs_onnx(("onnxruntime",))
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 4  # what it refuses is reported by the error
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no common class of their own
            raise CheckpointError(f"{path} must be a graph that onnxruntime reads", got=str(error)[:200]) from None
        self.inputs = tuple(each.name for each in self._session.get_inputs())
        self.outputs = tuple(each.name for each in self._session.get_outputs())

    def run(self, inputs: Inputs) -> dict[str, Tensor]:
        """The outputs by name, for ids [B, S] with their mask and segments."""
        assert inputs.ids is not None
        ones = torch.ones_like(inputs.ids)
        given: dict[str, Any] = {
            IDS: inputs.ids,
            REAL: ones if inputs.real is None else inputs.real.long(),
            SEGMENTS: torch.zeros_like(ones) if inputs.segments is None else inputs.segments,
        }
        arrays = self._session.run(self.outputs, {name: given[name].cpu().numpy() for name in self.inputs})
        return {name: torch.from_numpy(array) for name, array in zip(self.outputs, arrays, strict=True)}

    def of_row(self, row: Row) -> npt.NDArray[np.float32]:
        """The first output [S, W] for a row alone, without torch."""
        ids = np.asarray(row.ids, np.int64)[None]  # [1, S]
        given = {IDS: ids, REAL: np.ones_like(ids)}
        given[SEGMENTS] = np.zeros_like(ids) if row.segments is None else np.array([row.segments], np.int64)
        found: list[npt.NDArray[np.float32]] = self._session.run(
            self.outputs, {each: given[each] for each in self.inputs}
        )
        return found[0][0]


class OnnxTransformer(Transformer):
    """A model whose answers come from a graph: whoever asks a `Transformer` may ask this one."""

    def __init__(self, model: Transformer, session: Session, head: ExportedHead) -> None:
        nn.Module.__init__(self)
        self.config = model.config
        self.encoder, self.decoder = model.encoder, model.decoder
        self.head, self.sentence_head, self.token_head = model.head, model.sentence_head, model.token_head
        self.session, self.exported = session, head

    def forward(
        self,
        inputs: Inputs,
        decoder_inputs: Inputs | None = None,
        *,
        memory: Tensor | None = None,
        scored_at: Tensor | None = None,
        cache: KeyValueCache | None = None,
        heads: Collection[str] | None = None,
        cross_scores: bool = False,
    ) -> Output:
        """As `Transformer.forward` of an encoder, for the heads that were exported; the states are not known."""
        output = self.exported.output(self.session.run(inputs))
        if scored_at is None or output.logits is None:
            return output
        chosen = output.logits.flatten(0, 1).index_select(0, scored_at.flatten())  # [N, V]
        return Output(states=output.states, logits=chosen, sentence_logits=output.sentence_logits)


# The look-ups of scores of words: one scale for a whole table of them rounds most to nothing.
_EXACT = [f"sentence_head.words.{table}/Gather" for table in ("token", "neighbours")]


def write_int8(graph: Path, out: Path, *, whole: bool = False) -> None:
    """Write the graph with its matrices and tables rounded to 8 bits, but for scores of words: a scale for each column
    of a matrix, one for a whole table. What is multiplied with them is rounded when the graph runs. Matrices keep 7
    bits unless all 8 are to be used (`whole`): on processors without VNNI two products are added in 16 bits, and larger
    ones overflow there (decisions/2026-11-23-onnx.md).
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logger = logging.getLogger()  # which onnxruntime itself writes to
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        quantize_dynamic(
            str(graph), str(out), weight_type=QuantType.QInt8, per_channel=True, reduce_range=not whole,
            nodes_to_exclude=_EXACT,
        )  # fmt: skip
    finally:
        logger.setLevel(level)
