"""`python -m tests.golden.verbs`: what every verb of the command line answers, recorded and compared.

record FOLDER    before a change: each case as a JSON file, to the bit
compare FOLDER   after it, on the same machine; --tolerance 0.002 on another one
record FILE.json      the fast cases alone, rounded: the copy that is committed
compare FILE.json     the same cases, on any machine
"""

import os

# Before torch is imported: sums in one order, on the processor.
os.environ.update(OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")

import argparse
import sys
from pathlib import Path

from tests.golden.verbs.judge import compare, record


def main() -> int:
    """Exit code 0: recorded, or no difference; 1: a difference, or a command that failed."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden.verbs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("record", "compare"):
        command = commands.add_parser(name)
        command.add_argument("folder", type=Path, help="one JSON file a case; FILE.json: all in one")
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
