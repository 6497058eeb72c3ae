"""All of torch's operators that can be written in ONNX, by torch's names."""

from glassformer.convert.onnx import axes, numbers, shapes
from glassformer.convert.onnx.table import Operator

OPERATORS: dict[str, Operator] = {**numbers.operator, **axes.operator, **shapes.operator}
