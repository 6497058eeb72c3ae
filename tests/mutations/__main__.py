"""Do the tests notice errors? `python -m tests.mutations list`, or `run [NAME ...] [--part I/N] [--jobs N]`.

The exit code is 1 if an error escapes, 2 if nothing could be run. `--kept FILE` keeps the outcomes and does not repeat
what is noticed there: delete the file when code or tests change. Before anything is changed the tests must pass;
`--trust` skips this run.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from tests.mutations.record import Mutation
from tests.mutations.runner import NOTICED, Outcome, run_all
from tests.mutations.table import MUTATIONS

CHECKOUT = Path(__file__).resolve().parents[2]


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutations", description=(__doc__ or "").partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    listing = verbs.add_parser("list", help="the mutations and the files they change")
    running = verbs.add_parser("run", help="apply mutations one at a time to a copy, and run their tests")
    for verb in (listing, running):
        verb.add_argument("names", nargs="*", metavar="NAME")
        verb.add_argument("--part", type=part, default=(1, 1), metavar="I/N")
        verb.add_argument("--json", action="store_true")
    running.add_argument("--jobs", type=int, default=1)
    running.add_argument("--kept", type=Path, metavar="FILE")
    running.add_argument("--trust", action="store_true")
    asked = parser.parse_args(words)
    known = {each.name for each in MUTATIONS}
    if strange := [name for name in asked.names if name not in known]:
        parser.error(f"there is no mutation {strange[0]}: see list")
    place, parts = asked.part
    chosen = [each for each in MUTATIONS if not asked.names or each.name in asked.names][place - 1 :: parts]
    if asked.verb == "list":
        for each in chosen:
            print(json.dumps(asdict(each)) if asked.json else f"{each.name:40} {each.file}")
        return 0
    return run(chosen, jobs=max(1, asked.jobs), as_json=asked.json, kept=asked.kept, trust=asked.trust)


def part(text: str) -> tuple[int, int]:
    """`2/3` as (2, 3)."""
    place, slash, parts = text.partition("/")
    if not (slash and place.isdigit() and parts.isdigit() and 1 <= int(place) <= int(parts)):
        raise argparse.ArgumentTypeError(f"a part is I/N, such as 1/4; got {text}")
    return int(place), int(parts)


def run(mutations: Sequence[Mutation], *, jobs: int, as_json: bool, kept: Path | None, trust: bool) -> int:
    """Run the mutations, print a table, and return the exit code."""
    before = {} if kept is None or not kept.is_file() else dict(map(_read, kept.read_text().splitlines()))
    known = {each.name: before[_key(each)] for each in mutations if _key(each) in before}
    left = [each for each in mutations if each.name not in known or known[each.name].verdict != NOTICED]
    keys = {each.name: _key(each) for each in mutations}

    def see(found: Outcome) -> None:
        if not as_json:
            print(f"{found.verdict:8} {found.seconds:6.1f} s  {found.name}", file=sys.stderr, flush=True)
        if kept is not None:
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": keys[found.name], **found.to_dict()}) + "\n")

    try:
        with tempfile.TemporaryDirectory(prefix="mutations-") as folder:
            known |= {
                each.name: each for each in run_all(CHECKOUT, Path(folder), left, jobs=jobs, trust=trust, see=see)
            }
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    outcomes = [known[each.name] for each in mutations]
    missed = [each for each in outcomes if each.verdict != NOTICED]
    if as_json:
        print(json.dumps([each.to_dict() for each in outcomes], indent=2))
        return int(bool(missed))
    for each in outcomes:
        print(f"{each.name:40} {each.verdict:8} {each.seconds:6.1f} s  {each.by.splitlines()[-1] if each.by else ''}")
    print(f"{len(outcomes) - len(missed)} of {len(outcomes)} noticed, {sum(each.seconds for each in outcomes):.0f} s")
    return int(bool(missed))


def _key(mutation: Mutation) -> str:
    """A mutation's own key: another text or another test makes another one."""
    return sha256(json.dumps(asdict(mutation)).encode()).hexdigest()[:16]


def _read(line: str) -> tuple[str, Outcome]:
    values = json.loads(line)
    return values.pop("key"), Outcome(**values)


if __name__ == "__main__":
    sys.exit(main())
