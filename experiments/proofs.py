"""The last result of the longer proofs, which `make test-long` runs: docs/results/long-proofs.json.

python -m experiments.proofs FILE.xml      # from what pytest --junit-xml has written
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from experiments import results

NAME = "long-proofs"


def read(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each test by its name, with its outcome and its seconds."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        ended = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        yield name, {"outcome": ended, "seconds": round(float(case.get("time", "nan")), 1)}


def keep(path: Path) -> Path:
    """Put a run's tests in the place of their last results; those that it left out stay as they were.

    Each has its own day, machine and torch: they need not have run together.
    """
    before = results.read(NAME) or {"proofs": {}}
    ran = {name: proof | results.made_on() for name, proof in read(path)}
    return results.write(NAME, "make test-long", {"proofs": before["proofs"] | ran})


if __name__ == "__main__":
    print(keep(Path(sys.argv[1])))
