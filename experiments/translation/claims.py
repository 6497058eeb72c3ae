"""The claims about translation in docs/measured/claims.md, each with the rule by which figures become a verdict."""

from collections.abc import Mapping
from typing import Any

from experiments import results
from experiments.page import NOT_YET, made_by, shown, table
from experiments.translation.table import GENERAL, OURS, quoted, row_of

EQUAL = "3+3"
TESTS = ("test 2016", "test 2017", "MSCOCO")


def sections() -> list[str]:
    """Lines of the page."""
    return [*_translates(), "", *_scaled(), "", *_equal(), ""]


def _translates() -> list[str]:
    sets = {"multi30k": row_of("multi30k"), "tatoeba": row_of("tatoeba")}
    rows, commands = [], []
    for name, row in sets.items():
        its = {} if row is None else row["sides"].get(OURS, {})
        for test, found in its.get("scores", {}).items():
            assert row is not None
            general = quoted(GENERAL)[test] if name == "multi30k" else ""
            copied = f"{row['copied'][test]['bleu']['value']:.1f}"
            rows.append([f"{name}, {test}", shown(found["bleu"]), shown(found["chrf"]), copied, general])
        if its:
            commands.append(f"- {made_by({**its['facts'], 'command': its['command']})}")
        else:
            rows.append([name, NOT_YET, "", "", ""])
    return [
        "## X-1 · English becomes French",
        "",
        "**Claim** (the notes): an encoder and a decoder that learn from pairs (English, French) translate.",
        "",
        f"One command from the raw pairs, random weights at first; compared with {GENERAL}'s large general model as",
        "its card gives it (trained on far more text, not on captions), and the sources copied.",
        "",
        "**Rule**: it holds where the whole interval of BLEU is above that of the copied sources and above the general",
        f"model's figure on all three tests of multi30k ({', '.join(TESTS)}); in part where it is on some of them, or",
        "above the copied sources alone.",
        "",
        table(["", "BLEU", "chrF", "copied: BLEU", f"{GENERAL}: BLEU"], rows),
        "",
        f"**Verdict**: {_verdict_of_translating(sets['multi30k'])}.",
        "",
        *commands,
    ]


def _verdict_of_translating(row: Mapping[str, Any] | None) -> str:
    if row is None or OURS not in row["sides"]:
        return f"**{NOT_YET}**"
    scores = {test: row["sides"][OURS]["scores"][test]["bleu"] for test in TESTS}
    translates = all(of["low"] > row["copied"][test]["bleu"]["high"] for test, of in scores.items())
    above = [test for test, of in scores.items() if of["low"] > float(quoted(GENERAL)[test])]
    below = [test for test in TESTS if test not in above]
    if translates and not below:
        return "**holds**"
    said = f"above the copied sources on all tests; above {GENERAL}'s model on {', '.join(above) or 'none'}"
    said += f", not above it on {', '.join(below)}"
    return f"**in part**: {said}" if translates else "**not shown**"


def _scaled() -> list[str]:
    row = results.read("translation-scaling")
    arms = {} if row is None else row["arms"]
    sizes = sorted({int(name.partition(",")[0]) for name in arms})
    rows, worse = [], []
    for size in sizes:
        assert row is not None
        scaled, unscaled = (arms.get(f"{size}, {which}") for which in ("scaled", "unscaled"))
        if scaled is None or unscaled is None:
            continue
        difference = unscaled["difference"]["loss"]
        if difference["low"] > 0:
            worse.append(size)
        rows.append(
            [
                str(size),
                *(f"{row['unit'][str(size)][which]:.3f}" for which in ("scaled", "unscaled")),
                *(f"{arm['before']['gradient']:.2e}" for arm in (scaled, unscaled)),
                *(f"{arm['scores']['loss']['value']:.3f}" for arm in (scaled, unscaled)),
                f"{difference['value']:+.3f} ({difference['low']:+.3f} … {difference['high']:+.3f})",
            ]
        )
    if not rows:
        rows, verdict = [[NOT_YET, *[""] * 7]], f"**{NOT_YET}**"
    elif len(worse) == len(rows):
        verdict = "**holds**"
    elif worse:
        verdict = f"**in part**: worse without scaling at {', '.join(map(str, worse))}"
    else:
        verdict = "**not shown**: at no size worse without scaling"
    return [
        "## X-8 · Scores are divided by the root of the query size",
        "",
        "**Claim** (the notes, the guide): without it gradients are not stable, values explode.",
        "",
        "First the slope of the softmax where queries and keys are independent and of variance 1: the mean norm of its",
        "Jacobian, for 16 keys. Then short runs on multi30k that differ in the query size and in scaling alone, see",
        "docs/measured/results.md: the gradient of all query and key matrices before training, and the loss after it.",
        "",
        "**Rule**: it holds at a size where the loss on the validation targets is higher without scaling, with the",
        "whole interval of the paired difference above 0. One seed each.",
        "",
        table(
            ["query size", "slope", "unscaled", "gradient", "unscaled", "loss", "unscaled", "difference"],
            rows,
        ),
        "",
        f"**Verdict**: {verdict}.",
        *_command(row),
    ]


def _equal() -> list[str]:
    row = results.read("translation-layers")
    arms = {} if row is None else row["arms"]
    rows, as_good = [], []
    for name, arm in arms.items():
        if "seed" not in name and EQUAL in arms and name != EQUAL:
            layers = [int(count) for count in name.split("+")]
            if layers[0] != layers[1] and arm["difference"]["loss"]["low"] <= 0:
                as_good.append(name)
        difference = arm["difference"].get("loss")
        shown_difference = (
            ""
            if difference is None
            else f"{difference['value']:+.3f} ({difference['low']:+.3f} … {difference['high']:+.3f})"
        )
        rows.append([name, f"{arm['parameters']:,}", f"{arm['scores']['loss']['value']:.3f}", shown_difference])
    unequal = [name for name in arms if len(set(name.partition(",")[0].split("+"))) == 2]
    if not unequal or EQUAL not in arms:
        verdict = f"**{NOT_YET}**"
    elif as_good:
        verdict = f"**does not hold**: not worse than {EQUAL}: {', '.join(as_good)}"
    else:
        verdict = "**not shown**: other numbers work, and were worse after so few steps"
    return [
        "## C-8 · As many blocks in the encoder as in the decoder",
        "",
        "**Claim** (the notes): encoder and decoder must have the same number of blocks.",
        "",
        "**Rule**: it does not hold where a model with two different numbers, together at most six, is not worse than",
        f"{EQUAL}: the interval of the paired difference of losses is not wholly above 0. What the seed alone makes",
        "is in the table.",
        "",
        table(["encoder + decoder", "parameters", "loss", "difference"], rows or [[NOT_YET, "", "", ""]]),
        "",
        f"**Verdict**: {verdict}.",
        *_command(row),
    ]


def _command(row: Mapping[str, Any] | None) -> list[str]:
    return [] if row is None else ["", f"- {made_by(row)}"]
