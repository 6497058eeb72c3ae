"""The sections on the encoder's tasks in docs/measured/{results,bench}.md, from docs/results/*.json alone."""

import tomllib
from collections.abc import Mapping
from typing import Any

from experiments import results
from experiments.encoder import counted
from experiments.encoder.plan import ENCODER, PLAIN, PLANS, RANDOM
from experiments.page import NOT_YET, made_by, percent, table

OURS, PEER, SCALED = "ours", "peer", "peer-scaled"

WHAT = {
    "sst2": "film reviews, development part",
    "sms_spam": "messages without repeats, a fifth held out",
    "mrpc": "paraphrases",
    "sick": "entailment among captions",
    "snli": "entailment; learned from the development part",
    "sts": "likeness from 0 to 5",
    "next_turn": "dailydialog: the true next turn among four",
    "acts": "dailydialog: the acts of a dialogue (several labels)",
    "pos": "ud_english_ewt: universal parts of speech",
    "wnut17": "rare entities, legal tags (Viterbi)",
    "squad": "squadshifts new_wiki, one epoch → xquad en",
    "squad2": "twelve articles of squad2, after new_wiki → four others",
}
# The scores that are shown, and those that the issue set a mark for.
SHOWN = {
    "sst2": ("accuracy",),
    "sms_spam": ("F1 of spam", "accuracy"),
    "mrpc": ("accuracy", "F1 of 1"),
    "sick": ("accuracy",),
    "snli": ("accuracy",),
    "sts": ("Pearson", "Spearman"),
    "next_turn": ("accuracy",),
    "acts": ("micro F1", "macro F1"),
    "pos": ("accuracy",),
    "wnut17": ("entity F1",),
    "squad": ("exact match", "F1"),
    "squad2": ("exact match", "F1"),
}


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    rows, tests = [], []
    for name in PLANS:
        found = results.read(f"encoder-{name}")
        if found is None:
            rows.append([f"`{name}`", WHAT[name], *[""] * 4, NOT_YET, ""])
            continue
        for number, score in enumerate(SHOWN[name]):
            first = [f"`{name}`", WHAT[name]] if number == 0 else ["", ""]
            rows.append([*first, score, *_cells(found, score)])
        tests.append(_settings(name, found))
    head = ["set", "", "score", "majority", "TF-IDF", "Trainer", "ours", "ours − Trainer"]
    return [
        "## The encoder's tasks",
        "",
        f"From {ENCODER}.",
        "On both sides the same records, epochs, batches of 32, learning rate and type of matrix products: bfloat16",
        "where the processor has it, else float32 (said with each row).",
        "The Trainer (`transformers`) has its defaults for the rest: AdamW, linear decay, no warm-up, no weight decay,",
        "each batch padded to its longest row, with rows of similar length where noted. Ours is what the task's",
        "recipe says: 10 % warm-up, weight decay 0.01, batches of similar length.",
        "± is the deviation over seeds, where there are several. The last column is the difference with its 95 %",
        "interval by the paired bootstrap over test records; **not worse** means that the interval does not lie wholly",
        "below 0, and its lower end says how much worse ours could be.",
        "",
        table(head, rows),
        "",
        *tests,
        "",
        *_scaled(),
        *_variants(),
        *_pretraining(),
        *_spam(),
        *_quoted(),
    ]


def _cells(found: Mapping[str, Any], score: str) -> list[str]:
    """Majority, TF-IDF, the Trainer's, ours, and the difference."""
    difference = found["against"].get(f"{OURS} against {PEER}", {}).get(score)
    return [
        *(_value(found, side, score) for side in (counted.MAJORITY, counted.TFIDF, PEER, OURS)),
        "" if difference is None else _difference(difference),
    ]


def _value(found: Mapping[str, Any], side: str, score: str) -> str:
    if side not in found["sides"]:
        return ""
    value = found["sides"][side]["scores"][score]
    spread = "" if value["deviation"] is None else f" ± {100 * value['deviation']:.1f}"
    return f"{100 * value['value']:.1f}{spread}"


def _difference(value: Mapping[str, Any]) -> str:
    return f"{percent(value, signed=True)}: **{value['verdict']}**"


def _settings(name: str, found: Mapping[str, Any]) -> str:
    settings = found["settings"]
    seeds = {side: len(found["sides"][side]["seeds"]) for side in (OURS, PEER) if side in found["sides"]}
    each = ", ".join(f"{side} {count}" for side, count in seeds.items())
    epochs = f"{settings['epochs']:g} epoch{'s' * (settings['epochs'] != 1)}"
    grouped = "; the Trainer's batches of similar length" if settings.get("grouped") else ""
    made = {
        f"{fact['date']}, {fact['machine']}, {fact.get('products', 'bfloat16')}"
        for side in found["sides"].values()
        for fact in side["facts"]
    }
    return (
        f"- `{name}`: `python -m experiments.encoder {name} ours` and `… peer`; {epochs}, learning rate "
        f"{settings['learning_rate']:g}, up to {settings['length']} tokens{grouped}; "
        f"{found['tested_on']:,} test records; seeds: {each or 'none'}; {'; '.join(sorted(made))}"
    )


def _scaled() -> list[str]:
    """Of the numbers: what the Trainer makes of them when it learns them as ours does."""
    found = results.read("encoder-sts")
    if found is None or SCALED not in found["sides"]:
        return []
    rows = [
        [score, *(_value(found, side, score) for side in (PEER, SCALED, OURS)), _difference(difference)]
        for score, difference in found["against"][f"{OURS} against {SCALED}"].items()
    ]
    return [
        "### Numbers of sts",
        "",
        "Ours learns (number − mean) / deviation of the training numbers. The Trainer learns the number as it is, from",
        "0 to 5; `python -m experiments.encoder sts peer-scaled` gives it the same numbers as ours.",
        "",
        table(["score", "Trainer", "Trainer, scaled numbers", "ours", "ours − Trainer, scaled"], rows),
        "",
    ]


def _variants() -> list[str]:
    found = results.read("encoder-wnut17")
    if found is None:
        return []
    names = {
        PEER: "Trainer, each word by itself",
        PLAIN: "ours, each word by itself",
        OURS: "ours, legal tags by Viterbi",
        "crf": "ours, trained with a CRF layer",
    }
    rows = []
    for side, label in names.items():
        difference = found["against"].get(f"{side} against {PEER}", {}).get("entity F1")
        rows.append(
            [
                label,
                _value(found, side, "entity F1") or NOT_YET,
                _value(found, side, "accuracy"),
                "" if difference is None else _difference(difference),
            ]
        )
    return [
        "### Entities of wnut17",
        "",
        table(["", "entity F1", "token accuracy", "F1 against the Trainer's"], rows),
        "",
    ]


def _pretraining() -> list[str]:
    rows = []
    for name, score in (("sst2", "accuracy"), ("mrpc", "accuracy"), ("wnut17", "entity F1")):
        found = results.read(f"encoder-{name}")
        if found is None or RANDOM not in found["sides"]:
            rows.append([f"`{name}`", score, NOT_YET, "", "", ""])
            continue
        difference = found["against"][f"{OURS} against {RANDOM}"][score]
        cells = [_value(found, side, score) for side in (counted.MAJORITY, RANDOM, OURS)]
        rows.append([f"`{name}`", score, *cells, _difference(difference)])
    return [
        "### Does pre-training help?",
        "",
        "The same encoder, data, steps and settings; once from its weights, once from random ones.",
        "",
        table(["set", "score", "majority", "random weights", "pre-trained", "difference"], rows),
        "",
    ]


def _spam() -> list[str]:
    found = results.read("encoder-sms_spam")
    if found is None or "errors" not in found:
        return []
    lines = [f"- {error['label']}, taken for {error['predicted']}: {_cut(error['text'])}" for error in found["errors"]]
    return [
        "### The messages of sms_spam that ours takes for the other kind",
        "",
        f"{len(lines)} of {found['tested_on']:,}:",
        "",
        *lines,
        "",
    ]


def _quoted() -> list[str]:
    """Figures of others on SST-2 and SQuAD, from docs/quoted.toml."""
    path = results.RESULTS.parent / "quoted.toml"
    if not path.exists():
        return []
    figures = [
        each
        for each in tomllib.loads(path.read_text(encoding="utf-8"))["figure"]
        if each["what"].startswith(("SST-2", "SQuAD 1.1"))
    ]
    rows = [
        [each["what"], "; ".join(f"{name} {value}" for name, value in each["values"].items()), each["source"]]
        for each in figures
    ]
    return [
        "### For comparison: figures measured by others",
        "",
        "On SST-2's 67,349 phrases and on SQuAD's training part of about 88,000 questions, which were missing: the",
        "rows above learned from 6,920 sentences and from 7,938 questions.",
        "How each was read: [quoted figures](imprecise.md).",
        "",
        table(["quoted", "figures", "from"], rows),
        "",
    ]


def _cut(text: str) -> str:
    shown = " ".join(text.split())
    return f"`{shown[:100].replace('`', chr(39))}{'…' * (len(shown) > 100)}`"


def speed() -> str:
    """The section of docs/measured/bench.md on fine-tuning."""
    rows, commands = [], []
    for name in PLANS:
        found = results.read(f"bench-fine-tuning-{name}")
        if found is None:
            continue
        speeds = found["tokens_per_second"]
        cells = [f"{speeds[system]:,.0f}" if system in speeds else "" for system in SYSTEMS]
        ratios = [found["ratios"].get(f"ours over {system}") for system in SYSTEMS[2:]]
        rows.append([f"`{name}`", *cells, *("" if ratio is None else f"**{ratio:.2f}**" for ratio in ratios)])
        commands.append(made_by(found))
    if not rows:
        return NOT_YET
    head = ["tokens a second", *SYSTEMS, "ours, times the Trainer", "times the expert's"]
    return "\n\n".join(
        [
            f"Batch 32, from {ENCODER}.\n"
            "Tokens that are no padding. The Trainer at its defaults computes in float32 and pads random batches to\n"
            "their longest row; the expert's has bf16, `torch.compile` and batches of similar length. Ours is what\n"
            "`glassformer train` does: bf16, rows sorted into at most twelve lengths, and for runs this short no\n"
            "compiling.",
            table(head, rows),
            "\n".join(f"- {command}" for command in commands),
        ]
    )


SYSTEMS = ("ours", "ours compiled", "Trainer", "Trainer, expert")
