"""Results of the tests themselves, from what `pytest --junit-xml` has written.

python -m experiments.proofs long FILE.xml      # docs/results/long-proofs.json: the last result of each longer proof
python -m experiments.proofs slowest FILE.xml   # docs/results/slowest-tests.json: the fifty slowest of `make test`
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from experiments import results

NAME, SLOWEST = "long-proofs", "slowest-tests"


def read(path: Path) -> Iterator[tuple[str, str, float]]:
    """Each case by the name of its test, with its outcome and its seconds."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        ended = next((child.tag for child in case if child.tag in ("failure", "error", "skipped")), "passed")
        yield name, ended, float(case.get("time", "nan"))


def keep(path: Path) -> Path:
    """Put a run's tests in the place of their last results; those that it left out stay as they were.

    The cases of a test are one row: its outcome is that of the first that did not pass. Each test has its own day,
    machine and torch: they need not have run together.
    """
    before = results.read(NAME) or {"proofs": {}}
    ran: dict[str, dict[str, Any]] = {}
    for name, ended, seconds in read(path):
        row = ran.setdefault(name.partition("[")[0], {"outcome": "passed", "cases": 0, "seconds": 0.0})
        row["cases"] += 1
        row["seconds"] = round(row["seconds"] + seconds, 1)
        if ended != "passed" and row["outcome"] in ("passed", "skipped"):
            row["outcome"] = ended
    made_on = results.made_on()
    return results.write(
        NAME, "make test-long", {"proofs": before["proofs"] | {name: row | made_on for name, row in ran.items()}}
    )


def keep_slowest(path: Path, most: int = 50) -> Path:
    """The seconds of all tests together, and the slowest cases."""
    cases = sorted(((seconds, name) for name, _, seconds in read(path)), reverse=True)
    return results.write(
        SLOWEST,
        "make test; python -m experiments.proofs slowest runs/tests.xml",
        {
            "cases": len(cases),
            "seconds": round(sum(seconds for seconds, _ in cases), 1),
            "slowest": {name: round(seconds, 1) for seconds, name in cases[:most]},
        },
    )


if __name__ == "__main__":
    print({"long": keep, "slowest": keep_slowest}[sys.argv[1]](Path(sys.argv[2])))
