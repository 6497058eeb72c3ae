"""The sections on pre-training of docs/measured/{results,claims}.md, from docs/results/pretraining.json alone."""

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from experiments import results
from experiments.encoder.plan import RANDOM

NOT_YET = "not measured yet"
Table = Callable[[Sequence[str], Sequence[Sequence[str]]], str]
Row = Mapping[str, Any]

# What each arm learns, and how its masked words are treated.
ARMS = {
    RANDOM: ("random weights", ""),
    "alone": ("masked words alone", "80/10/10"),
    "alone-100": ("masked words alone", "100/0/0"),
    "next": ("masked words and next sentence", "80/10/10"),
    "next-100": ("masked words and next sentence", "100/0/0"),
    "order": ("masked words and sentence order", "80/10/10"),
}
TASKS = {"sst2": "SST-2", "mrpc": "MRPC"}
WAYS = {"tuned": "fine-tuned", "frozen": "frozen"}
WORDS_REACH, PAIRS_REACH = 0.98, 1.0  # shares that a page learned by heart must reach

CLAIM = """**Claims** (the notes, S1-37 and S1-38): an encoder that predicts masked words, and whether a sentence
follows another, is useful for other tasks; of the masked words 80 % become [MASK], 10 % another word, and 10 % stay.
"""
RULE = """**Rules**, stated before the arms were run; all differences are in accuracy after the same fine-tuning, with
paired bootstrap intervals over the test rows (95 %).

- *Masked words are useful* where the arm with masked words alone (80/10/10) is better than the random weights that it
  began with, on SST-2.
- *Next sentence* and *sentence order* are *learned* where the accuracy on pairs of the held-out books is
  above chance, the share of their most frequent label. Each *helps* where its arm is better than masked words alone on
  SST-2 or on MRPC, and worse on neither; it *harms* where it is worse on one and better on neither; else it is not
  shown that it matters.
- *80/10/10* is better than 100/0/0 where at least one of four differences is above 0 and none below (with masked words
  alone and with next sentence, each on SST-2 and MRPC); it is worse the other way round; else no difference is shown.

*Fine-tuned*, labels are read from the first token, as in BERT, with a learning rate chosen for each arm on held-out
rows: trained weights are larger than random ones, and need another rate (first tried with one
rate, in five minutes an arm: decisions/2026-11-23-what-pre-training-teaches-in-minutes.md). *Frozen*, the mean of the
last states under a logistic regression, is judged apart, by the same rules. Of ten such intervals, at least one
excludes 0 by chance in two cases of five. Each arm has been trained once and fine-tuned once: the intervals do not
include the effect of another seed. Fine-tuning masked words alone on SST-2 (58.7) with three more seeds gave 58.5, 60.0
and 55.6 (issue 31).
"""


def section(table: Table) -> list[str]:
    """Lines of docs/measured/results.md."""
    row = results.read("pretraining")
    lines = ["## Pre-training: masked words, next sentence, sentence order", ""]
    if row is None:
        return [*lines, NOT_YET, ""]
    return [*lines, *_text(row), "", *_figures(row, table), *_by_heart(row, table), "", *_commands(row), ""]


def claims(table: Table) -> list[str]:
    """Lines of docs/measured/claims.md: X-14."""
    row = results.read("pretraining")
    lines = ["## X-14 · Masked words, next sentence, 80/10/10", "", CLAIM, RULE]
    if row is None or not any(row["against"].values()):
        return [*lines, f"**Verdict**: **{NOT_YET}**."]
    verdicts = [
        f"masked words are useful: {_each(row, _useful)}",
        f"next sentence: {_learned(row, 'next')}, {_each(row, _helps('next'))}",
        f"sentence order: {_learned(row, 'order')}, {_each(row, _helps('order'))}",
        f"80/10/10 instead of 100/0/0: {_each(row, _masking)}",
    ]
    unlearned = " Where a question was not learned, a difference is that of other pairs, or of chance."
    return [
        *lines,
        *_figures(row, table),
        *_today(),
        f"**Verdict**: **{_joint(row)}**: {'; '.join(verdicts)}. Two layers of 128 and {row['minutes']:g} minutes of "
        f"one thread say nothing about BERT's own size and text.{unlearned if 'not learned' in str(verdicts) else ''}",
        "",
        _command(row),
    ]


def _today() -> list[str]:
    """Whether masked words are useful with the recipe of today, in the seeds of experiments/own_start.py."""
    row = results.read("own-start")
    if row is None:
        return []
    sets = row["sets"].values()
    better = sum(sum(each["own"]) > sum(each["none"]) for each in sets)
    each_seed = sum(min(each["own"]) > max(each["none"]) for each in sets)
    return [
        *_wrapped(
            "*Masked words are useful*, asked again on three seeds after the recipe had changed (`train masked-lm` by "
            f"its defaults, {row['minutes']:g} minutes of two cores, then `train` of six sets by its defaults): "
            f"**{'holds' if better == len(sets) else 'in part'}**. The mean is better than without a start on "
            f"{better} of {len(sets)} sets, and on {each_seed} each seed is better than every seed without one "
            "([scores](results.md#a-start-of-ones-own))."
        ),
        "",
    ]


def _text(row: Row) -> list[str]:
    settings, tested = row["settings"], row["tested_on"]
    lines = _wrapped(
        f"Two layers of 128 (ModernBERT's parts, two segments), the vocabulary of the books, rows of "
        f"{settings['length']} tokens, {settings['batch']} of them a step, Muon. Each arm has {row['steps']:,} steps: "
        f"{row['minutes']:g} minutes of one thread of the processor at {1000 * row['seconds']:.0f} ms a step, measured "
        "before. All arms begin with the same random weights and read pairs of neighbouring texts of `text_books`, "
        "without five held-out books; the arm with masked words alone reads each pair in its order, so "
        "that a step costs all the same. *Masked words*: the share that is right in the five books, at the same places "
        "for all arms, each of them [MASK]. *Pairs*: the share that is right there; *chance*: the share of the most "
        "frequent label."
    )
    if tested:
        seeds = row["seeds"]["tuned"]
        rows = " and ".join(f"{its['rows']:,}" for its in tested.values())
        chance = " and ".join(f"{its['chance']:.1%}" for its in tested.values())
        lines += [
            "",
            *_wrapped(
                f"SST-2 and MRPC: fine-tuned by `train classify` on the first {settings['rows']:,} rows, "
                f"{settings['fine_steps']} steps of 32, {seeds} seed{'s' * (seeds != 1)}, with the learning rate of "
                f"{', '.join(f'{rate:g}' for rate in settings['fine_rates'])} that was best for this arm and task on "
                f"the last {settings['kept']} rows, trained on those before them; "
                "or frozen, the mean of the last states under a logistic regression, of a pair |u − v| and u · v. "
                f"Tested on {rows} rows. Always the most frequent label: {chance}."
            ),
        ]
    return lines


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, 116, break_on_hyphens=False)


def _figures(row: Row, table: Table) -> list[str]:
    """The tables of the arms: on the books, on other tasks, and their differences there."""
    books = table(["", "masking", "masked words", "pairs", "chance"], [_arm(row, name) for name in list(ARMS)[1:]])
    head = [f"{of}, {way}" for of in TASKS.values() for way in WAYS.values()]
    tasks = table(
        ["", "masking", "learning rates", *head],
        [[*ARMS[name], _rates(row, name), *_tuned(row, name)] for name in ARMS],
    )
    lines = [books, "", tasks, ""]
    pairs = list(dict.fromkeys(pair for of in row["against"].values() for pair in of))
    if pairs:
        differences = [[_titled(pair), *_differences(row, pair)] for pair in pairs]
        lines += [table(["difference, in points", *head], differences), ""]
    return lines


def _arm(row: Row, name: str) -> list[str]:
    description, masking = ARMS[name]
    found = row["arms"].get(name)
    if found is None:
        return [description, masking, NOT_YET, "", ""]
    pairs = found["pairs"]
    of_pairs = ["", ""] if pairs is None else [_share(pairs["accuracy"]), f"{100 * pairs['chance']:.1f}"]
    return [description, masking, _share(found["words"]), *of_pairs]


def _rates(row: Row, name: str) -> str:
    """The learning rates that were chosen for the fine-tuning, in the order of TASKS."""
    return ", ".join(f"{rate:g}" for rate in row["arms"].get(name, {}).get("rates", {}).values())


def _tuned(row: Row, name: str) -> list[str]:
    tasks = row["arms"].get(name, {}).get("tasks", {})
    found = [tasks.get(way, {}).get(task) for task in TASKS for way in WAYS]
    return [NOT_YET if each is None else _share(each) for each in found]


def _differences(row: Row, pair: str) -> list[str]:
    found = [row["against"][way].get(pair, {}).get(task) for task in TASKS for way in WAYS]
    return [NOT_YET if each is None else _points(each) for each in found]


def _titled(pair: str) -> str:
    """Two arms by what they learn, with their masking where it differs or is not the usual one."""
    one, two = pair.split(" against ")
    if ARMS[one][0] == ARMS[two][0]:
        return f"{ARMS[one][0]}: {ARMS[one][1]} − {ARMS[two][1]}"
    return f"{ARMS[one][0]} − {ARMS[two][0]}"


def _by_heart(row: Row, table: Table) -> list[str]:
    found = row["overfit"]
    lines = ["### A page learned by heart (N-11)", ""]
    if found is None:
        return [*lines, NOT_YET]
    reached = found["masked_words"] >= WORDS_REACH and found["next_sentence"] >= PAIRS_REACH
    return [
        *lines,
        *_wrapped(
            "BERT's demonstration learns its sample text by heart in 20 steps, from trained weights: masked words "
            f"0.985, next sentence 1.0. Here a BERT-tiny from random weights on {found['characters']:,} characters of "
            f"three books, prepared in the same way ({found['pairs']} pairs, each with its masks), {found['steps']:,} "
            "steps."
        ),
        "",
        table(
            ["", "masked words", "next sentence"],
            [
                ["BERT's demonstration", "0.985", "1.000"],
                [
                    "with the masks that were learned",
                    *(f"{found[name]:.3f}" for name in ("masked_words", "next_sentence")),
                ],
                ["with other masks", f"{found['other_masks']:.3f}", ""],
                ["chance", "", f"{found['chance']:.3f}"],
            ],
        ),
        "",
        f"At least {WORDS_REACH} and {PAIRS_REACH}: **{'reached' if reached else 'missed'}**.",
    ]


# --------------------------------------------------------------------------- verdicts


Against = Mapping[str, Mapping[str, Mapping[str, float]]]


def _each(row: Row, judge: Callable[[Against], str]) -> str:
    """The verdict for each way to use an encoder, or one where they agree."""
    found = {description: judge(row["against"][way]) for way, description in WAYS.items()}
    if len(set(found.values())) == 1:
        return next(iter(found.values()))
    return ", ".join(f"{said} {description}" for description, said in found.items())


def _signs(against: Against, pairs: Sequence[str]) -> list[int] | None:
    """Of each difference, in all sets: 1 where its whole interval is above 0, -1 below, 0 else; None without one."""
    if not all(pair in against for pair in pairs):
        return None
    found = [against[pair][task] for pair in pairs for task in TASKS]
    return [int(each["low"] > 0) - int(each["high"] < 0) for each in found]


def _judged(signs: Sequence[int] | None, up: str, down: str, neither: str) -> str:
    if signs is None:
        return f"**{NOT_YET}**"
    better, worse = 1 in signs, -1 in signs
    if better and worse:
        return f"**mixed**: {signs.count(1)} of {len(signs)} differences above 0, {signs.count(-1)} below"
    return f"**{up if better else down if worse else neither}**"


def _useful(against: Against) -> str:
    signs = _signs(against, ["alone against random"])
    return _judged(None if signs is None else signs[:1], "holds", "does not hold", "not shown")


def _joint(row: Row) -> str:
    """One word for all of it: masked words, both questions about sentences, and 80/10/10."""
    said = [
        *(_useful(row["against"][way]) for way in WAYS),
        *(_helps(name)(row["against"][way]) for name in ("next", "order") for way in WAYS),
        *(_masking(row["against"][way]) for way in WAYS),
    ]
    good = sum(each.startswith(("**holds", "**helps", "**better")) for each in said)
    return "holds" if good == len(said) else "in part" if good else "does not hold"


def _learned(row: Row, name: str) -> str:
    found = row["arms"].get(name)
    if found is None:
        return f"learned: **{NOT_YET}**"
    above = found["pairs"]["above"]
    said = "learned" if above["low"] > 0 else "not learned"
    return f"**{said}** ({_points(above)} points above chance)"


def _helps(name: str) -> Callable[[Against], str]:
    def judge(against: Against) -> str:
        return _judged(_signs(against, [f"{name} against alone"]), "helps", "harms", "no effect shown")

    return judge


def _masking(against: Against) -> str:
    pairs = [pair for pair in ("alone against alone-100", "next against next-100") if pair in against]
    signs = _signs(against, pairs) if pairs else None
    part = "" if signs is None or len(pairs) == 2 else f" ({len(signs)} of 4 differences are there)"
    return _judged(signs, "better", "worse", "no difference shown") + part


# --------------------------------------------------------------------------- how it is written


def _share(found: Mapping[str, float]) -> str:
    value, low, high = (f"{100 * found[key]:.1f}" for key in ("value", "low", "high"))
    return f"{value} ({low} … {high})"


def _points(found: Mapping[str, float]) -> str:
    value, low, high = (f"{100 * found[key]:+.1f}" for key in ("value", "low", "high"))
    return f"{value} ({low} … {high})"


def _commands(row: Row) -> list[str]:
    arms = [
        f"- {ARMS[name][0]} {ARMS[name][1]}".rstrip() + f": `{its['command']}`" for name, its in row["arms"].items()
    ]
    heart = ["- a page learned by heart: `python -m experiments.pretraining overfit`"] if row["overfit"] else []
    return [*arms, *heart, f"- {_command(row)}"]


def _command(row: Row) -> str:
    return f"`{row['command']}`: {row['date']}, {row['machine']}, torch {row['torch']}"
