"""The sections on translation in docs/measured/{results,claims}.md, from docs/results/*.json alone."""

import tomllib
from collections.abc import Mapping
from typing import Any

from experiments import results
from experiments.page import NOT_YET, made_by, shown, table

OURS, PEER = "ours", "peer"
LABELS = {OURS: "glassformer", PEER: "transformers' MarianMTModel"}
TOKENS = "bleu of tokens, lower case"
# Of the rows that have been run for several times, the one that is judged, and the others that are shown.
MINUTES = (60, 30)
JUDGED = "test 2016"
# The curve has a point for each so many minutes.
STEP = 5
# Whose figures on multi30k are quoted.
GENERAL, TINY = "OPUS-MT", "Transformer-Tiny"
# Runs of one hour on two cores by the command line.
TWO_CORES = {
    "translation-multi30k-two-cores": "glassformer, two cores",
    "translation-multi30k-two-cores-small-steps": "glassformer, two cores, steps of half the tokens",
}

Row = Mapping[str, Any]


def row_of(name: str) -> Row | None:
    """The row of a set that ran longest."""
    rows = (results.read(f"translation-{name}-{minutes}-minutes") for minutes in MINUTES)
    return next((row for row in rows if row is not None), None)


def quoted(who: str) -> Mapping[str, str]:
    """Figures of others on multi30k by test, from docs/quoted.toml."""
    figures = tomllib.loads((results.RESULTS.parent / "quoted.toml").read_text(encoding="utf-8"))["figure"]
    (found,) = (each["values"] for each in figures if each["what"].startswith("multi30k") and who in each["what"])
    values: Mapping[str, str] = found
    return values


# --------------------------------------------------------------------------- docs/measured/results.md


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    return [
        "## Translation: English to French",
        "",
        "Ours is `glassformer train translate` with the minutes and the validation pairs named and nothing else set.",
        "transformers' is its `MarianMTModel` of the same size, with the same vocabulary, in a plain loop for the same",
        "minutes: AdamW with warm-up and linear decay, label smoothing 0.1, the same dropout, batches of similar",
        "length with as many target tokens, not compiled. Both keep the exponential mean of the weights (0.999) and",
        "translate with 5 beams. Ours spends some of its minutes compiling and looking at the validation loss, the",
        "peer none. Brackets are 95 % bootstrap intervals, signatures of sacreBLEU are in the rows.",
        "",
        *_multi30k(),
        *_layers(),
        *_scaling(),
    ]


def _multi30k() -> list[str]:
    row = row_of("multi30k")
    lines = ["### multi30k", ""]
    if row is None:
        return [*lines, NOT_YET, ""]
    tests, sides = list(row["tested_on"]), row["sides"]
    cells = [[LABELS[side], *(shown(its["scores"][test]["bleu"]) for test in tests)] for side, its in sides.items()]
    cells += [
        [f"difference, {pair}", *(shown(found[test]["bleu"], signed=True) for test in tests)]
        for pair, found in row["against"].items()
    ]
    two_cores = {label: found for name, label in TWO_CORES.items() if (found := results.read(name))}
    cells += [[label, *(shown(found["bleu"][test]) for test in tests)] for label, found in two_cores.items()]
    cells.append(["copied sources", *(f"{row['copied'][test]['bleu']['value']:.1f}" for test in tests)])
    cells.append([f"{GENERAL}, a large general model (quoted)", *(quoted(GENERAL)[test] for test in tests)])
    lower = [[LABELS[side], *(shown(its["scores"][test][TOKENS]) for test in tests)] for side, its in sides.items()]
    lower.append([f"{TINY} (quoted, from memory)", *(quoted(TINY)[test] for test in tests)])
    other = [
        [LABELS[side], *(f"{its['scores'][test][score]['value']:.1f}" for test in tests for score in ("chrf", "ter"))]
        for side, its in sides.items()
    ]
    return [
        *lines,
        table(["sacreBLEU, cased, whole texts", *tests], cells),
        "",
        *(f"- {label}: {made_by(its)}; {its['steps']:,} steps, {its['shared']}" for label, its in two_cores.items()),
        *([""] if two_cores else []),
        "BLEU as most papers on multi30k have it, of tokens in lower case:",
        "",
        table(["", *tests], lower),
        "",
        table(["", *(f"{test}: {score}" for test in tests for score in ("chrF", "TER"))], other),
        "",
        *_curve(sides),
        *made(row),
    ]


def _curve(sides: Mapping[str, Row]) -> list[str]:
    """BLEU of the validation part after so many minutes: that of the last snapshot until then."""
    curves = {side: its["curve"] for side, its in sides.items() if its["curve"]}
    if not curves:
        return []
    end = max(point["minutes"] for curve in curves.values() for point in curve)
    marks = [*range(STEP, int(end) + 1, STEP)]
    rows = []
    for mark in marks:
        points = [[point for point in curve if point["minutes"] <= mark + 0.5] for curve in curves.values()]
        rows.append([str(mark), *(f"{its[-1]['bleu']:.1f}" if its else "" for its in points)])
    return [
        "BLEU of the validation part, translated without beams, after so many minutes of training (measured from",
        "snapshots after the training: it counts for neither):",
        "",
        table(["minutes", *(LABELS[side] for side in curves)], rows),
        "",
    ]


def made(row: Row) -> list[str]:
    """With what, for how long and where each side was trained."""
    lines = []
    for side, its in row["sides"].items():
        facts = its["facts"]
        known = [
            f"{facts['steps']:,} steps, {facts['parameters']:,} parameters (`{facts['size']}`)"
            if "steps" in facts
            else "",
            f"dropout {facts['dropout']}, {facts['batch_tokens']:,} target tokens a step" if "steps" in facts else "",
            f"{facts['date']}, {facts['machine']}, torch {facts['torch']}, {facts['products']}",
        ]
        lines.append(f"- {LABELS[side]}: `{its['command']}`; {'; '.join(filter(None, known))}")
    return [*lines, ""]


def _layers() -> list[str]:
    row = results.read("translation-layers")
    lines = ["### Layers of encoder and decoder", ""]
    if row is None or not row["arms"]:
        return [*lines, NOT_YET, ""]
    rows = [
        [
            f"{name} layers",
            f"{arm['parameters']:,}",
            f"{arm['scores']['loss']['value']:.3f}",
            _difference(arm),
            f"{arm['bleu']:.1f}",
            _seconds(arm["processor seconds of training"]),
            _seconds(arm["processor seconds of translating"]),
        ]
        for name, arm in row["arms"].items()
    ]
    head = ["encoder + decoder", "parameters", "loss", "difference", "BLEU", "training, s", "translating, s"]
    return [
        *lines,
        f"{row['steps']:,} steps each on multi30k, width {row['settings']['model.settings']['width']}. Losses are of",
        "the validation targets, in nats a token, differences with the interval of the paired bootstrap over",
        "sentences; the first arm differs from 3+3 in its seed alone. Seconds are of one processor; translated are",
        "the validation sources, without beams.",
        "",
        table(head, rows),
        "",
        *_made_arms(row),
    ]


def _scaling() -> list[str]:
    row = results.read("translation-scaling")
    lines = ["### Scaling of the scores", ""]
    if row is None or not row["arms"]:
        return [*lines, NOT_YET, ""]
    rows = [
        [
            name,
            f"{arm['before']['largest weight']:.3f}",
            f"{arm['before']['gradient']:.2e}",
            f"{arm['after']['largest weight']:.3f}",
            f"{arm['scores']['loss']['value']:.3f}",
            _difference(arm),
            f"{arm['bleu']:.1f}",
        ]
        for name, arm in row["arms"].items()
    ]
    head = ["query size", "largest weight", "gradient", "largest weight at the end", "loss", "difference", "BLEU"]
    return [
        *lines,
        f"{row['steps']:,} steps each on multi30k, 2 + 2 layers, 2 heads, width",
        f"{row['settings']['model.settings']['width']}; values keep their size. Before training and at its end the",
        "mean of the largest weight of each attention; before training the norm of the gradient by all query and",
        "key matrices.",
        "Losses as above, each difference to the scaled arm of its size.",
        "",
        table(head, rows),
        "",
        *_made_arms(row),
    ]


def _difference(arm: Row) -> str:
    return shown(arm["difference"]["loss"], digits=3, signed=True) if arm["difference"] else ""


def _seconds(found: float | None) -> str:
    return "" if found is None else f"{found:,.0f}"


def _made_arms(row: Row) -> list[str]:
    return [f"{made_by(row)}, {row['products']}", ""]
