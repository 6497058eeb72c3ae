"""Tables: kills and fuzzing (docs/security), rows with Ray (docs/scale), serving (docs/measured/bench.md)."""

from __future__ import annotations

from experiments import results
from experiments.page import DOCS, NOT_YET, filled, made_by, table

ALL, HOURS = 1000, 10


def security_page() -> str:
    """docs/security/index.md."""
    return filled((DOCS / "security" / "index.md").read_text(encoding="utf-8"), {"kills": kills(), "fuzz": fuzz()})


def ray_page() -> str:
    """docs/scale/ray.md."""
    return filled((DOCS / "scale" / "ray.md").read_text(encoding="utf-8"), {"corpus": corpus()})


def corpus() -> str:
    """Rows a second of the verb alone and with --ray, whose actor and command are killed on the way."""
    row = results.read("bench-corpus")
    if row is None:
        return NOT_YET
    rates = [
        [way, *(f"{row[f'{name}_rows_per_{unit}']:,.0f}" for unit in ("second", "processor_second"))]
        for way, name in (("`classify`", "alone"), ("`classify --ray`, killed twice", "ray"))
    ]
    once = "each there once, in order" if row["each_once_in_order"] else "**not each once**"
    return (
        f"{row['rows']:,} short texts, {once}, {row['same_labels']:,} labels the same; killed: "
        f"{' and '.join(row['kills'])}.\n\n"
        f"{table(['', 'rows a second', 'rows a second of one core'], rates)}\n\n{made_by(row)}"
    )


def kills() -> str:
    """What came of the kills of each scene. `refused`: with and without `--resume`."""
    row = results.read("kills")
    if row is None:
        return NOT_YET
    scenes = [
        [
            name,
            f"{scene['kills']:,}",
            f"{scene['same']:,}",
            f"{sum(scene['refused'].values()):,}",
            f"{len(scene['wrong']):,}",
        ]
        for name, scene in row["scenes"].items()
    ]
    head = ["killed", "kills", "then ended with the same bits", "refused in a sentence", "neither"]
    every = [f"{row[name]:,}" for name in ("kills", "same", "refused", "wrong")]
    notes = ["A command that was killed twice in a row has two kills and one end."]
    if row["kills"] < ALL:
        notes.append(f"{ALL - row['kills']:,} of {ALL:,} kills are still to be done.")
    return f"{table(head, [*scenes, ['**all**', *every]])}\n\n{' '.join(notes)} {made_by(row)}"


def fuzz() -> str:
    """What came of the cases of each fuzzer."""
    row = results.read("fuzz")
    if row is None:
        return NOT_YET
    lines = [
        [
            name,
            f"{cases:,}",
            f"{sum(each['seconds'] for each in row['parts'] if each['fuzzer'] == name) / 3600:.1f}",
            f"{sum(each['fuzzer'] == name and bool(each['wrong']) for each in row['parts']):,}",
        ]
        for name, cases in row["cases"].items()
    ]
    head = ["fuzzer", "cases", "hours of one core", "parts with a failure"]
    left = HOURS - row["hours"]
    rest = f"{left:.1f} of {HOURS} hours are still to be done. " if left > 0 else ""
    return f"{table(head, lines)}\n\n{rest}{made_by(row)}"


def serving() -> str:
    """Answers of the server under load, and how many a second next to the verb and a peer."""
    row = results.read("bench-serving")
    if row is None:
        return NOT_YET
    load, rates = row["load"], row["throughput"]
    ours = rates["serve"]
    under = [
        ("clients", f"{load['clients']:,}"),
        ("seconds", f"{load['seconds']:,}"),
        ("answers equal to those of the text alone", f"{load['right']:,}"),
        ("other answers", f"{load['wrong']:,}"),
        ("refused with 429", f"{load['refused']:,}"),
        ("clients that were cut off", f"{load['lost']:,}"),
        ("seconds of a request, median", f"{load['p50']:.2f}"),
        ("seconds of a request, 99 of 100", f"{load['p99']:.2f}"),
        (
            "MB of the server after a fifth of the time, and at the end",
            " and ".join(f"{m:,.0f}" for m in load["megabytes"]),
        ),
    ]
    compared = [
        (f"pairs a second: {name}", f"{rate:.1f} ({ours / rate:.2f} ×)")
        for name, rate in rates.items()
        if name in NAMES
    ]
    compared.append(("labels that both servers give alike", f"{rates['same_labels']:.1%}"))
    return (
        "`serve english next-sentence en-fr` with clients that ask without a pause, and `classify` of "
        f"{rates['pairs']:,} pairs by 64 clients (in brackets: the rate of `serve` over this one). The peer is "
        f"onnxruntime served by uvicorn, with batches by tokens. Threads of each: {rates.get('threads', 1)}."
        "\n\n" + table(["", "measured"], [list(line) for line in [*under, *compared]])
    )


NAMES = ("serve", "onnxruntime and uvicorn", "classify --file")
