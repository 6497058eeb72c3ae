"""The last result of the longer proofs, which `make test-long` runs: docs/results/long-proofs.json.

python -m experiments.proofs FILE.xml      # from what pytest --junit-xml has written
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from experiments import results

NAME = "long-proofs"


def read(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each test by its name, with its outcome, its seconds and the day."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        ended = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        seconds = round(float(case.get("time", "nan")), 1)
        yield name, {"outcome": ended, "seconds": seconds, "date": time.strftime("%Y-%m-%d")}


if __name__ == "__main__":
    before = results.read(NAME) or {"proofs": {}}
    print(results.write(NAME, "make test-long", {"proofs": before["proofs"] | dict(read(Path(sys.argv[1])))}))
