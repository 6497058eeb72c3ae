"""One row of the tables of translation: trained, asked, scored, and written to docs/results/translation-….json.

    python -m experiments.translation multi30k ours --minutes 60 --threads 1      # or: peer
    python -m experiments.translation tatoeba ours --minutes 60                   # or: peer, package
    python -m experiments.translation multi30k scores --minutes 60                # from what was translated
    python -m experiments.translation layers                                      # all arms of short.py; or: scaling
    python -m experiments.translation layers 2+3                                  # one of them
    python -m experiments.translation multi30k ours --steps 20                    # a try: few sentences, for no page

Each row is resumable: the same command goes on where it was stopped (Ctrl-C, SIGTERM: `timeout -s TERM 1700 …`), and
does nothing when it is done. The minutes are those of training by the clock. Of ours they have compiling and the ten
looks at the validation loss that choose the model; the peer's have neither. Weights are set aside some twenty times for
the curve, which is measured after the training: that counts for neither.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn

from experiments import results
from experiments.translation import ours, short
from experiments.translation.measures import Scores
from experiments.translation.plan import (
    OURS,
    PACKAGE,
    PEER,
    SCORES,
    SETS,
    TRAVELLING,
    WORK,
    Budget,
    Texts,
    read_json,
    write_json,
)
from glassformer.training.checkpoint import Checkpoint, Checkpoints, weights
from glassformer.training.stopping import Interrupted

TRANSLATED, CURVE, FACTS = "translations.json", "curve.json", "facts.json"
BEAMS, SAMPLES = 5, 20


def run(name: str, side: str, budget: Budget) -> None:
    """Train one side, measure its curve and translate the test sets; nothing of what is there already."""
    pairs, folder = SETS[name], budget.folder(name, side)
    most = budget.sentences
    if (folder / TRANSLATED).exists():
        return
    translate: Callable[[Sequence[str], int], list[str]]
    if side == PEER:
        from experiments.translation.peer import Peer

        peer = Peer(pairs, budget, folder)
        peer.train()
        module, facts = peer.model, peer.facts()

        def translate(sources: Sequence[str], beams: int) -> list[str]:
            return peer.translate(sources, beams=beams)

    else:
        import glassformer as gf

        model = ours.train(pairs, budget, folder) if side == OURS else gf.load(TRAVELLING, device="cpu")
        facts = ours.facts(model, folder) if side == OURS else {}
        module = model.module

        def translate(sources: Sequence[str], beams: int) -> list[str]:
            return ours.translate(model, sources, beams=beams)

    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / FACTS, {**facts, **results.made_on()})
    found = {}
    for test, part in pairs.tests.items():
        began = time.monotonic()
        found[test] = translate(pairs.texts(part, most).sources, BEAMS)
        print(f"{test}: {len(found[test]):,} sentences in {time.monotonic() - began:.0f} s", flush=True)
    if side != PACKAGE:
        _curve(pairs.texts(pairs.validation, most), folder, module, translate)
    write_json(folder / TRANSLATED, found)


def _curve(test: Texts, folder: Path, module: nn.Module, translate: Callable[[Sequence[str], int], list[str]]) -> None:
    """BLEU of greedy translations of the validation part by each snapshot, with its minutes."""
    scores = Scores(test)
    known = read_json(folder / CURVE) if (folder / CURVE).exists() else []
    for snapshot in Checkpoints(folder / "curve").all()[len(known) :]:
        _use(module, snapshot)
        progress = snapshot.facts["progress"]
        bleu = scores.bleu(translate(test.sources, 1))
        known.append({"minutes": round(progress["seconds"] / 60, 2), "step": snapshot.step, "bleu": round(bleu, 2)})
        write_json(folder / CURVE, known)
        print(f"{known[-1]['minutes']:g} minutes: BLEU {bleu:.1f}", flush=True)


def _use(module: nn.Module, snapshot: Checkpoint) -> None:
    """Give the module the weights of a snapshot, which has those that are trained."""
    mine = weights(module)
    with torch.no_grad():
        for name, tensor in snapshot.tensors("average").items():
            mine[name].copy_(tensor)


def scores(name: str, budget: Budget) -> dict[str, Any]:
    """The scores of every side that has translated, of copied sources, and of ours against the peer's."""
    pairs = SETS[name]
    tests = {test: pairs.texts(part, budget.sentences) for test, part in pairs.tests.items()}
    measured = {test: Scores(texts) for test, texts in tests.items()}
    sides: dict[str, Any] = {}
    found: dict[str, dict[str, list[str]]] = {}
    for side in (OURS, PEER, PACKAGE):
        folder = budget.folder(name, side)
        if not (folder / TRANSLATED).exists():
            continue
        found[side] = read_json(folder / TRANSLATED)
        sides[side] = {
            "command": command(name, side, budget),
            "scores": {test: measured[test].of(found[side][test]) for test in tests},
            "curve": read_json(folder / CURVE) if (folder / CURVE).exists() else [],
            "facts": read_json(folder / FACTS),
        }
    drawn = random.Random(0)
    return {
        "tested_on": {test: len(texts.sources) for test, texts in tests.items()},
        "references": {test: sum(map(len, texts.references)) for test, texts in tests.items()},
        "signatures": next(iter(measured.values())).signatures,
        "sides": sides,
        "copied": {test: measured[test].of(texts.sources) for test, texts in tests.items()},
        "against": {
            f"{one} against {two}": {
                test: measured[test].compared(found[one][test], found[two][test]) for test in tests
            }
            for one, two in ((OURS, PEER), (PACKAGE, OURS))
            if one in found and two in found
        },
        "samples": [
            {
                "source": texts.sources[number],
                "translation": found[OURS][test][number],
                "references": texts.references[number],
            }
            for test, texts in list(tests.items())[:1]
            for number in drawn.sample(range(len(texts.sources)), min(SAMPLES, len(texts.sources)))
            if OURS in found
        ],
    }


def command(name: str, side: str, budget: Budget) -> str:
    """What to type for this row."""
    end = f"--minutes {budget.minutes:g}" if budget.steps is None else f"--steps {budget.steps}"
    threads = "" if budget.threads is None else f" --threads {budget.threads}"
    return f"python -m experiments.translation {name} {side} {end}{threads}"


def main() -> None:
    """One command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("row", choices=[*SETS, *short.ROWS])
    parser.add_argument("side", nargs="?", help=f"{OURS}, {PEER}, {PACKAGE}, {SCORES}, or an arm of a short row")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    is_short = given.row in short.ROWS
    known = [*short.ROWS[given.row].arms, SCORES] if is_short else [OURS, PEER, PACKAGE, SCORES]
    if given.side not in (known if not is_short else [*known, None]):
        parser.error(f"{given.side} is none of {', '.join(known)}")
    try:
        _do(given, known, is_short=is_short)
    except Interrupted as stopped:
        print(stopped, file=sys.stderr)
        raise SystemExit(stopped.exit_code) from None


def _do(given: argparse.Namespace, known: Sequence[str], *, is_short: bool) -> None:
    started = time.monotonic()
    if is_short:
        for arm in known[:-1] if given.side is None else [given.side]:
            if arm != SCORES:
                short.run(given.row, arm, given.steps)
        name, values = f"translation-{given.row}", short.scores(given.row, given.steps)
        said = f"python -m experiments.translation {given.row}"
    else:
        budget = Budget(given.minutes, given.steps, given.threads, given.seed)
        if given.side != SCORES:
            run(given.row, given.side, budget)
        name, values = f"translation-{given.row}-{budget.name}", scores(given.row, budget)
        said = command(given.row, SCORES, budget)
    if given.steps is None:
        path = results.write(name, said, values)
    else:  # a try is no result
        path = WORK / f"{name}.json"
        write_json(path, values)
    print(f"{path}: {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
