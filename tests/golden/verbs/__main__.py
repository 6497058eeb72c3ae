"""`python -m tests.golden.verbs`: what every verb of the command line answers, recorded and compared."""

from __future__ import annotations

import os

# Before torch is imported: sums in one order.
os.environ["OMP_NUM_THREADS"] = "1"

import argparse
import sys
from pathlib import Path

from tests.golden.verbs.judge import compare, record


def main() -> int:
    """Exit code 0: recorded, or no difference; 1: a difference, or a command that failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden.verbs", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("record", "compare"):
        command = commands.add_parser(name)
        command.add_argument("folder", type=Path, help="one JSON file a case")
        command.add_argument("--only", default=["*"], nargs="+", help="patterns of names, train/*")
        command.add_argument("--keep", type=Path, help="run the cases in this folder, and leave it")
        if name == "compare":
            command.add_argument("--tolerance", type=float, help="another machine: largest relative difference")
    asked = parser.parse_args()
    if asked.command == "record":
        return record(asked.folder, asked.only, keep=asked.keep)
    return compare(asked.folder, asked.only, tolerance=asked.tolerance, keep=asked.keep)


if __name__ == "__main__":
    sys.exit(main())
