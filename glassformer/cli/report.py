"""Reports of an evaluation, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TextIO


def show_report(report: Mapping[str, Any], handle: TextIO) -> None:
    """Print what a task reports beside its scores."""
