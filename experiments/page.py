"""What the generated pages of docs/ have in common: how a table, a score, and the making of a row are written."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.results import RESULTS

DOCS = RESULTS.parent
NOT_YET = "not measured yet"
LAST = "415d1b2e"  # the last commit with the code of the finished experiments
FINISHED = f"""The code of finished experiments has been removed. The commands of `experiments.chat`, `.features`,
`.onnx_sst2`, `.pretraining`, `.recurrent`, `.transfer`, `.translation`, `.writing` and `.source_sentences`, and
`bench.compiling`, `.formula_or_kernel` and `.translation memory`, run at commit `{LAST}` (`git checkout {LAST}`), those
of `experiments.case` and `.spam` at `7bc2b57c`, of `.taught_tags` at `6110067f`.
"""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True) -> str:
    """A Markdown table: first column left, the others, which hold `numbers` or else texts, right or left."""
    rule = ["---"] + ["---:" if numbers else "---"] * (len(head) - 1)
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, rule, *rows))


def shown(found: Mapping[str, float], *, digits: int = 1, signed: bool = False, times: float = 1) -> str:
    """A score with its interval, each multiplied with `times`: `0.5 (0.4 … 0.6)`."""
    sign = "+" if signed else ""
    value, low, high = (f"{times * found[key]:{sign}.{digits}f}" for key in ("value", "low", "high"))
    return f"{value} ({low} … {high})"


def percent(found: Mapping[str, float], *, signed: bool = False) -> str:
    """A share of 1 with its interval, as per cent; of a difference, as points."""
    return shown(found, signed=signed, times=100)


def made_by(row: Mapping[str, Any]) -> str:
    """The command of a row, when it ran, and on what."""
    return f"`{row['command']}`: {row['date']}, {row['machine']}, torch {row['torch']}"


def filled(text: str, tables: Mapping[str, str]) -> str:
    """A page typed by hand with its tables in place: each between `<!-- NAME: how -->` and `<!-- end of NAME -->`."""
    for name, made in tables.items():
        place = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)", re.DOTALL)
        text, count = place.subn(lambda found, made=made: f"{found[1]}{made}\n{found[2]}", text)  # type: ignore[misc]
        assert count == 1, name
    return text


def write(path: Path, text: str) -> None:
    """One page."""
    path.write_text(text, encoding="utf-8")
    print(path)
