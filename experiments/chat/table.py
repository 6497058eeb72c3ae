"""The section on chat in docs/measured/results.md, from docs/results/*.json alone."""

from experiments.page import NOT_YET, table
from experiments.writing.table import Row, longest, made, one_line, shown

LABELS = {"ours": "glassformer", "transformers": "transformers' MarianMTModel"}
SCORES = {"bits_per_byte": "bits per byte", "word_perplexity": "perplexity of a word", "token_perplexity": "of a token"}
REPLIES = ("distinct_1", "distinct_2", "reply_words", "repeated_4", "empty")


def row_of() -> Row | None:
    """The row of chat that ran longest."""
    return longest("chat")


def section() -> list[str]:
    """Lines of docs/measured/results.md."""
    row = row_of()
    lines = ["## Chat: learned from self_dialogue, measured on DailyDialog", ""]
    if row is None:
        return [*lines, NOT_YET, ""]
    scored = [
        [LABELS[side], f"{its['facts']['steps']:,}", *(shown(its["scores"][score]) for score in SCORES)]
        for side, its in row["sides"].items()
    ]
    if row["against"]:
        scored.append(["difference", "", *(shown(row["against"][score], signed=True) for score in SCORES)])
    like = {**{LABELS[side]: its["replies"] for side, its in row["sides"].items()}, "people": row["right_replies"]}
    return [
        *lines,
        "Dialogues of crowd workers about films, music and sports to learn from; the conversations of a language",
        f"course to measure on, with the blanks that its tokens had taken out again: {row['measured']:,} replies. Both",
        "sides have one size, vocabulary and time. Perplexity is that of the right replies after the right turns; by",
        "words and bytes it compares models of any vocabulary. Lower is better; brackets are 95 % bootstrap intervals",
        "over replies.",
        "",
        table(["right replies", "steps", *SCORES.values()], scored),
        "",
        f"Their own greedy replies to {row['written']} of these conversations:",
        "",
        table(
            ["", *(name.replace("_", " ") for name in REPLIES)],
            [[name, *(f"{its[score]:.3f}" for score in REPLIES)] for name, its in like.items()],
        ),
        "",
        *_samples(row),
        *made(row["sides"], LABELS),
    ]


def _samples(row: Row) -> list[str]:
    """The first conversations that a seed drew; ours also as it replies by default, with words that are drawn."""
    sides = [*row["sides"], *(["ours, drawn"] if "ours" in row["sides"] else [])]
    rows = [
        [" / ".join(one_line(turn) for turn in each["turns"]), *(one_line(each[side]) for side in [*sides, "right"])]
        for each in row["samples"]
    ]
    sentence = (
        f"{len(rows)} of them, drawn by a seed and not chosen; greedy, and ours also with words drawn as by default:"
    )
    return [sentence, "", table(["turns", *sides, "people"], rows, numbers=False), ""]
