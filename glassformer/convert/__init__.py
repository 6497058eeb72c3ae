"""Models of other libraries in and out: Hugging Face, ONNX."""

from glassformer.convert.families import FAMILY_TABLES
from glassformer.convert.hub import fetch
from glassformer.convert.huggingface import Imported, Report, read_huggingface, write_huggingface

__all__ = ["FAMILY_TABLES", "Imported", "Report", "fetch", "read_huggingface", "write_huggingface"]
