"""The sections of docs/measured/claims.md on what decoders are said to do, X-2, X-3, X-9: from docs/results/*.json."""

from collections.abc import Mapping, Sequence
from typing import Any

from experiments import results
from experiments.chat import table as chat
from experiments.page import NOT_YET, made_by, table
from experiments.recurrent.table import ARMS, within
from experiments.small.dialogues import PAIR, REPEATS
from experiments.writing import table as writing
from experiments.writing.table import BITS, WAYS, one_line, shown

Row = Mapping[str, Any]
PROMPT = "As Aliens entered our planet"
# What counts as copied.
COPIED = 0.9


def sections() -> list[str]:
    """Lines of the page."""
    return [*_replies(), "", *_writes(), "", *_recurrent(), ""]


def _replies() -> list[str]:
    packed, row = results.read("chat"), chat.row_of()
    reply = None if packed is None else packed["greedy"][PAIR[0]]
    if reply is None:
        verdict, shown_reply = f"**{NOT_YET}**", NOT_YET
    elif reply == PAIR[1]:
        verdict, shown_reply = "**holds**, by heart", f'"{reply}"'
    else:
        verdict, shown_reply = "**does not hold**", f'"{one_line(reply)}"'
    against = NOT_YET if row is None or not row["against"] else shown(row["against"]["bits_per_byte"], signed=True)
    return [
        f'## X-2 · "{PAIR[0]}" → "{PAIR[1]}"',
        "",
        "**Claim** (the guide): an encoder–decoder is a chatbot: it replies to *Hi how are you* with *I am fine*.",
        "",
        f"`chat`, the model in the package, has this exchange {REPEATS} times in its text, among dialogues of people:",
        "the reply shows only that an encoder–decoder can learn an exchange by heart.",
        "",
        "**Rule**: it holds where the greedy reply is the exact one.",
        "",
        f"The reply: {shown_reply}. Replies to new turns are measured on DailyDialog: ours minus",
        f"transformers' model of the same size and minutes, in bits per byte: {against} ([results](results.md), with",
        "ten exchanges that were not chosen).",
        "",
        f"**Verdict**: {verdict}.",
        *_command(packed),
    ]


def _writes() -> list[str]:
    row, packed = writing.row_of(), results.read("writer")
    lines = [
        "## X-3 · A story is continued",
        "",
        "**Claim** (the guide): a Transformer continues *As Aliens entered our planet*, and attends, for each",
        "word, at those before it.",
        "",
        "**Rule**: that it writes is shown below, whatever comes. That it has learned something holds where its bits",
        "per byte on a held-out book are below those of a trigram, an LSTM and GPT-2, of the same size and",
        "time: the whole interval of each paired difference below 0, each row alone.",
        "",
    ]
    if packed is not None:
        lines += [f"`writer` of the package: *{PROMPT}*{one_line(packed['answers'][PROMPT])}", ""]
    if row is None or not row["against"]:
        return [*lines, f"**Verdict**: **{NOT_YET}**.", *_command(row)]
    found = {pair.removeprefix("ours against "): its for pair, its in row["against"].items()}
    rows = [
        [writing.LABELS[side], *(shown(its[way][BITS], signed=True) for way in WAYS)] for side, its in found.items()
    ]
    below = [side for side, its in found.items() if its[WAYS[0]][BITS]["high"] < 0]
    missing = [side for side in writing.LABELS if side not in row["sides"]]
    if missing:
        verdict = f"**{NOT_YET}** ({', '.join(writing.LABELS[side] for side in missing)})"
    elif len(below) == len(found):
        verdict = "**holds**"
    else:
        others = [writing.LABELS[side] for side in found if side not in below]
        verdict = f"**in part**: not below {', '.join(others)}"
    return [
        *lines,
        table(["bits per byte: ours minus that of", *WAYS], rows),
        "",
        f"**Verdict**: {verdict}.",
        *_command(row),
    ]


def _recurrent() -> list[str]:
    text, copied = results.read("recurrent-text"), results.read("recurrent-copy")
    lines = [
        "## X-9 · Faster than recurrent networks, and a longer memory",
        "",
        "**Claims** (the notes, the guide): a Transformer is faster than a recurrent network, because all words go in",
        "at once; its memory is longer than that of RNN, GRU and LSTM.",
        "",
        "Five encoder–decoders of equal size, see [results](results.md). **Rules**: it is faster where it trains, and",
        "where it writes, more tokens a second than each recurrent one; not where both are slower than all; else in",
        "part. Its memory is longer than another's where 90 % of the gradient come from a longer stretch of the text.",
        f"Copying (at least {COPIED:.0%} of the symbols) shows over what distance a model learns in equal minutes.",
        "",
        "All on one thread of a processor, on which little is gained by having all words at once: a device with",
        "thousands of threads was not available.",
        "",
    ]
    (faster, speed), (longer, memory) = _faster(text), _remembers(text, copied)
    verdict = faster if faster == longer or NOT_YET in (faster, longer) else "in part"
    if text is not None and text["arms"]:
        lines += [
            table(
                ["", "training, tokens a second", "writing one text", "90 % of the gradient within"],
                [
                    [
                        name,
                        f"{arm['trained_tokens_per_second']:,.0f}",
                        f"{next(iter(arm['written_tokens_per_second'].values())):,.0f}",
                        f"{within(arm['window'], 0.9)} tokens",
                    ]
                    for name, arm in text["arms"].items()
                ],
            ),
            "",
        ]
    commands = [line for row in (text, copied) for line in _command(row)[1:]]
    said = f"faster {faster}: {speed}. Longer memory {longer}: {memory}"
    return [*lines, f"**Verdict**: **{verdict}**: {said}.", *([""] if commands else []), *commands]


def _faster(row: Row | None) -> tuple[str, str]:
    """Training and writing, against each of the recurrent ones."""
    if row is None or set(row["arms"]) != set(ARMS):
        return NOT_YET, f"speed {NOT_YET}"
    speeds = {
        "trains": {name: arm["trained_tokens_per_second"] for name, arm in row["arms"].items()},
        "writes": {name: next(iter(arm["written_tokens_per_second"].values())) for name, arm in row["arms"].items()},
    }
    said, slower_than = [], 0
    for verb, its in speeds.items():
        ratios = {name: its[ARMS[0]] / its[name] for name in ARMS[1:]}
        slower_than += sum(ratio <= 1 for ratio in ratios.values())
        said.append(f"it {verb} at {'; '.join(f'{ratio:.2f} times the {name}' for name, ratio in ratios.items())}")
    word = "holds" if not slower_than else "does not hold" if slower_than == len(speeds) * len(ARMS[1:]) else "in part"
    return word, ". ".join(said).replace(". it", ". It")


def _remembers(row: Row | None, copied: Row | None) -> tuple[str, str]:
    """The reach of the gradient; and the distance over which copying was learned in the minutes."""
    if row is None or set(row["arms"]) != set(ARMS):
        return NOT_YET, f"memory {NOT_YET}"
    reach = {arm: within(row["arms"][arm]["window"], 0.9) for arm in ARMS}
    shorter = [arm for arm in ARMS[1:] if reach[arm] < reach[ARMS[0]]]
    word = "holds" if len(shorter) == len(ARMS) - 1 else "in part" if shorter else "does not hold"
    longer = f"longer than that of {'; '.join(shorter)}" if shorter else "not longer than that of any other"
    said = f"the gradient reaches {longer}"
    if copied is not None and len(copied["arms"]) == len(ARMS) * len(copied["settings"]["distances"]):
        learned = "; ".join(f"{arm} {_reach(copied, arm) or 'none'}" for arm in ARMS)
        said += (
            f". Copying was learned in {copied['minutes']:g} minutes up to a distance of: {learned}; this is the speed "
            "of learning, not the length of a memory, and decides nothing"
        )
    return word, said


def _reach(row: Row, arm: str) -> int:
    """The greatest distance up to which all are copied; 0 where not even the least is."""
    reach = 0
    for distance in row["settings"]["distances"]:
        if row["arms"][f"{arm}, {distance}"]["symbols"] < COPIED:
            break
        reach = distance
    return reach


def _command(row: Row | None) -> Sequence[str]:
    return [] if row is None else ["", made_by(row)]
