"""A graph with matrices of 8 bits: dynamic quantization, as onnxruntime does it."""

import logging
from pathlib import Path


def write_int8(graph: Path, out: Path, *, whole: bool = False) -> None:
    """Write the graph with its matrices and tables rounded to 8 bits, a scale for each column; what is multiplied with
    them is rounded when the graph runs. Matrices keep 7 bits unless all 8 are to be used (`whole`): on processors
    without VNNI two products are added in 16 bits, and larger ones overflow there (decisions/2026-11-23-onnx.md).
    """
    from onnxruntime.quantization import QuantType, quantize_dynamic

    logger = logging.getLogger()  # which onnxruntime itself writes to
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        quantize_dynamic(str(graph), str(out), weight_type=QuantType.QInt8, per_channel=True, reduce_range=not whole)
    finally:
        logger.setLevel(level)
