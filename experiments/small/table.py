"""The sections on `writer` and `chat` in docs/measured/results.md, from docs/results/*.json alone."""

from collections.abc import Mapping
from typing import Any

from experiments import results
from experiments.page import NOT_YET, made_by, table
from experiments.writing.table import one_line

# The scores that are shown of each, and how.
WRITER = {"bits_per_byte": ".3f", "perplexity": ".1f", "accuracy": ".2%"}
CHAT = {
    "perplexity": ".2f",
    "bits_per_byte": ".3f",
    "accuracy": ".2%",
    "distinct_1": ".3f",
    "distinct_2": ".3f",
    "reply_words": ".1f",
}
BEFORE, PACKED = "float32, as it was trained", "bfloat16, as it is in the package"


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    return [*_english(), *_en_fr(), *_writer(), *_chat()]


def _english() -> list[str]:
    """The model in the package and the weights that were trained; nothing before it has been scored."""
    row = results.read("english")
    if row is None:
        return []
    rows = [
        [label, f"{scores['loss']:.4f}", f"{scores['accuracy']:.2%}", f"{scores['unigram_accuracy']:.2%}"]
        for label, scores in (
            (PACKED, row["scores"]),
            (BEFORE, row["scores_before_packing"]),
        )
    ]
    return [
        "## The model `english` in the package",
        "",
        f"{row['parameters']:,} parameters, {row['megabytes']} MB; {row['steps']:,} steps. Measured on the run's",
        f"{row['split']} documents, chosen by a hash of their text: {row['scores']['targets']:,.0f} masked tokens.",
        "",
        table(["weights", "loss", "accuracy", "most frequent token"], rows),
        "",
        made_by(row),
        "",
    ]


def _en_fr() -> list[str]:
    """The translator in the package, the weights that were trained and copied sources."""
    row = results.read("en-fr")
    if row is None:
        return []
    packed, trained = row["scores"], row["scores_before_packing"]
    rows = [
        [label, *(f"{scores[f'{prefix}{name}']:.2f}" for name in ("bleu", "chrf", "ter"))]
        for label, scores, prefix in (
            (PACKED, packed, ""),
            (BEFORE, trained, ""),
            ("sources copied", packed, "copy_source_"),
        )
    ]
    return [
        "## The model `en-fr` in the package",
        "",
        f"{row['parameters']:,} parameters, {row['megabytes']} MB; {row['steps']:,} steps on the training part of",
        f"tatoeba_en_fr alone. Measured on its test part: {packed['targets']:,.0f} sources, each against all its",
        "references; 5 beams, length penalty 0.6. The model's card has the intervals.",
        "",
        table(["weights", "BLEU", "chrF", "TER (lower is better)"], rows),
        "",
        made_by(row),
        "",
    ]


def _writer() -> list[str]:
    row, lines = results.read("writer"), ["## The model `writer` in the package", ""]
    if row is None:
        return [*lines, NOT_YET, ""]
    rows = [*_both(row, WRITER), ["trigram, counted", *_cells(row["scores"], WRITER, "trigram_")]]
    return [
        *lines,
        f"{row['parameters']:,} parameters, {row['megabytes']} MB; {row['steps']:,} steps. Measured on *Dracula*, of",
        f"which it has read nothing: {row['scores']['targets']:,.0f} tokens.",
        "",
        table(["weights", *(name.replace("_", " ") for name in WRITER)], rows),
        "",
        "What it wrote, with the seed 0:",
        "",
        *(f"- *{prompt}*{one_line(text)}" for prompt, text in row["answers"].items()),
        "",
        *_made(row),
    ]


def _chat() -> list[str]:
    row, lines = results.read("chat"), ["## The model `chat` in the package", ""]
    if row is None:
        return [*lines, NOT_YET, ""]
    baselines = {"trigram of the replies": "trigram_", "people": "right_replies_"}
    rows = [*_both(row, CHAT), *([name, *_cells(row["scores"], CHAT, prefix)] for name, prefix in baselines.items())]
    return [
        *lines,
        f"{row['parameters']:,} parameters, {row['megabytes']} MB; {row['steps']:,} steps. Measured on dialogues",
        f"chosen by a hash of their text: {row['scores']['targets']:,.0f} tokens of replies; distinct words and",
        "lengths are of its own greedy replies.",
        "",
        table(["weights", *(name.replace("_", " ") for name in CHAT)], rows),
        "",
        "What it replied, with the seed 0; the first of them it knows by heart:",
        "",
        table(["turn", "reply"], [[one_line(turn), one_line(reply)] for turn, reply in row["answers"].items()]),
        "",
        *_made(row),
    ]


def _both(row: Mapping[str, Any], scores: Mapping[str, str]) -> list[list[str]]:
    of = {PACKED: row["scores"], BEFORE: row["scores_before_packing"]}
    return [[name, *_cells(found, scores)] for name, found in of.items() if found]


def _cells(found: Mapping[str, float], scores: Mapping[str, str], prefix: str = "") -> list[str]:
    return [f"{found[f'{prefix}{name}']:{form}}" if f"{prefix}{name}" in found else "" for name, form in scores.items()]


def _made(row: Mapping[str, Any]) -> list[str]:
    return [made_by(row), ""]
