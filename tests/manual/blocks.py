"""The blocks of a page, each with the reason why it is not run, if it gives one."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(r"^(?:<!-- not run: ([^\n]+?) -->\n)?^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
RUNNABLE = ("sh", "bash", "python")


class Block(NamedTuple):
    """A block of code: its language, its text, and why it is not run."""

    kind: str
    text: str
    reason: str


def blocks(page: str | Path) -> list[Block]:
    """All blocks of a page, in their order."""
    text = page if isinstance(page, str) else page.read_text(encoding="utf-8")
    return [Block(kind, code, reason) for reason, kind, code in BLOCK.findall(text)]


def to_run(page: str | Path, kinds: Sequence[str] = RUNNABLE) -> list[Block]:
    """The blocks of these languages that give no reason."""
    return [each for each in blocks(page) if each.kind in kinds and not each.reason]
