"""Models of other libraries in and out."""

from glassformer.convert.hub import fetch
from glassformer.convert.huggingface import FAMILY_TABLES, Imported, Report, read_huggingface, write_huggingface

__all__ = ["FAMILY_TABLES", "Imported", "Report", "fetch", "read_huggingface", "write_huggingface"]
