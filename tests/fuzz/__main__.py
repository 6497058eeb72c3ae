"""Run the fuzzers for hours, a part at a time, and count what came of it.

python -m tests.fuzz --hours 10                   # goes on after the parts that docs/results/fuzz.json has
python -m tests.fuzz --seed 7 --only readers      # one part again, which replaces its last result
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from glassformer.runtime.made_on import made_on

RESULT = Path(__file__).parents[2] / "docs" / "results" / "fuzz.json"
FUZZERS = ("commands", "readers", "models")
COUNTED, FOUND = re.compile(r"^([\d,]+) cases with the seed", re.MULTILINE), re.compile(r"^E  +(\S.*)$", re.MULTILINE)
MOST_LINES = 60


def part(fuzzer: str, seed: int, seconds: int) -> dict[str, Any]:
    """One fuzzer with one seed: its cases, the time of the processor in seconds, and the lines of what went wrong."""
    limits = {"GLASSFORMER_FUZZ_SEED": str(seed), "GLASSFORMER_FUZZ_SECONDS": str(seconds), "OMP_NUM_THREADS": "1"}
    test = Path(__file__).with_name(f"test_{fuzzer}.py")
    began = _processor_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", "-q", "-s", str(test)],
        env=os.environ | limits,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    said = done.stdout + done.stderr
    if (counted := COUNTED.search(said)) is None:
        sys.exit(f"the fuzzer of {fuzzer} did not end with the seed {seed}:\n{said[-3000:]}")
    wrong = FOUND.findall(said)[:MOST_LINES] if done.returncode else []
    used = round(_processor_seconds() - began, 1)
    return {"fuzzer": fuzzer, "seed": seed, "cases": int(counted[1].replace(",", "")), "seconds": used, "wrong": wrong}


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def keep(out: Path, parts: dict[str, dict[str, Any]]) -> None:
    row = {
        "name": "fuzz",
        "command": "python -m tests.fuzz --hours 10",
        **made_on(),
        "hours": round(sum(each["seconds"] for each in parts.values()) / 3600, 2),
        "cases": {name: sum(each["cases"] for each in parts.values() if each["fuzzer"] == name) for name in FUZZERS},
        "wrong": sum(bool(each["wrong"]) for each in parts.values()),
        "parts": list(parts.values()),
    }
    partial = out.with_suffix(".partial")
    partial.write_text(json.dumps(row, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    partial.replace(out)


def main(arguments: Sequence[str]) -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    asked.add_argument("--hours", type=float, default=0, help="of the processor in all, those counted before included")
    asked.add_argument("--seconds", type=int, default=300, help="of the processor that a part takes")
    asked.add_argument("--seed", type=int, default=None, help="run the part with this seed, and no other")
    asked.add_argument("--only", nargs="*", choices=FUZZERS, default=FUZZERS)
    asked.add_argument("--out", type=Path, default=RESULT)
    given = asked.parse_args(arguments)
    rows = json.loads(given.out.read_text())["parts"] if given.out.exists() else []
    parts = {f"{each['fuzzer']} {each['seed']}": each for each in rows}
    known = (each["seed"] for each in parts.values() if each["fuzzer"] in given.only)
    seed = 1 + max(known, default=-1) if given.seed is None else given.seed
    while given.seed == seed or sum(each["seconds"] for each in parts.values()) < 3600 * given.hours:
        for fuzzer in given.only:
            parts[f"{fuzzer} {seed}"] = row = part(fuzzer, seed, given.seconds)
            keep(given.out, parts)
            print(f"{fuzzer}, seed {seed}: {row['cases']:,} cases, {len(row['wrong'])} lines of failures", flush=True)
        seed += 1
    return 1 if any(each["wrong"] for each in parts.values()) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
