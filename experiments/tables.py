"""The tables of docs/, built from docs/results/*.json and from nothing else: python -m experiments.tables."""

from collections.abc import Mapping
from typing import Any

from experiments import engines_speed, onnx_sst2, own_start, page_speed, results, search, tags, training_speed, tuning
from experiments.books import BATCH, LENGTH, MINUTES, VOCABULARY
from experiments.chat import table as chat
from experiments.encoder import table as encoder
from experiments.features import table as features
from experiments.page import DOCS, FINISHED, NOT_YET, made_by, table, write
from experiments.pretraining import table as pretraining
from experiments.recurrent import table as recurrent
from experiments.small import table as small
from experiments.transfer import table as transfer
from experiments.translation import table as translation
from experiments.writing import table as writing
from manual import scale, trust
from manual.release import table as release

BOOKS = {
    "books-muon": "glassformer, the recipe of `train masked-lm`: Muon, six layers of 192",
    "books-muon-20-minutes": "the same recipe, twenty minutes",
    "books-muon-half": "the same recipe, 2,132 steps",
    "books-modernbert": "glassformer, the recipe until 2026-11-21: AdamW, four layers of 256",
    "books-ours": "glassformer, BERT-mini",
    "books-peer": "transformers' BertForMaskedLM, the same BERT-mini, bf16 autocast",
    "books-trigram": "both neighbours, counted (trigrams with back-off)",
    "books-unigram": "the most frequent token",
}

BOOKS_TEXT = f"""# Results

Built by `python -m experiments.tables` from `docs/results/*.json`; no figure is typed by hand.
{FINISHED}
## Masked words: fifty books in thirty minutes

One WordPiece vocabulary of {VOCABULARY:,} tokens learned on fifty of the 55 books of `text_books`; rows of {LENGTH}
tokens; batch {BATCH}; {MINUTES:g} minutes on two cores for each model, unless stated. Held out: *Dracula*, *The Origin
of Species*, *Pride and Prejudice*, *Alice's Adventures in Wonderland*, *The Adventures of Sherlock Holmes*; and the
validation and test parts of WikiText-2. Loss is in nats per masked token. Every row of the table is measured on the
same masked tokens (15 % of all, 80/10/10, drawn once). Unlike in training, unknown tokens are scored too: about one in
nine of WikiText-2's, none of the books'. The machines are named below;
that of the first row has the highest bf16 rate, so compare the numbers of steps too.
"""

BENCH_TEXT = f"""# Speed

Built by `python -m experiments.tables` from `docs/results/bench-*.json`, which `make bench` writes; `python -m bench
NAME` measures one row. glassformer and its peer run alternately in one session, each in its own process, on the same
weights, texts and number of threads. Ratios are medians over the turns.
{FINISHED}"""
MASKED_WORDS = """## Masked-word training

Length 128, vocabulary 30,522, dropout 0.1 on both sides. Peer: transformers' `BertForMaskedLM` with
`torch.optim.AdamW`. *Peer expert* adds bf16 autocast, a compiled loss and gradient, scores at masked words only and
fused AdamW. *Times ours* is the time of a step divided by glassformer's. Below the table, the matrix rate is the bf16
rate measured between the runs, and only the products that a step needs are counted. Peak memory is that after warm-up.
"""


def books_page() -> str:
    """docs/measured/results.md."""
    rows, commands = [], []
    for name, label in BOOKS.items():
        row = results.read(name)
        if row is None:
            rows.append([label, *[NOT_YET] + [""] * 5])
            continue
        books, wiki = row["scores"]["books"], row["scores"]["wikitext2"]
        steps = f"{row['steps']:,}" if "steps" in row else ""
        own = [f"{books['loss']:.3f}", f"{books['perplexity']:,.1f}", f"{books['accuracy']:.1%}"]
        rows.append([label, steps, *own, f"{wiki['loss']:.3f}", f"{wiki['accuracy']:.1%}"])
        commands.append(
            f"- {label}: `{row['command']}`, {row['date']}, {row['machine']}, torch {row['torch']}{_settings(row)}"
        )
    head = ["", "steps", "books: loss", "perplexity", "accuracy", "wikitext2: loss", "accuracy"]
    return "\n".join(
        [
            BOOKS_TEXT,
            table(head, rows),
            "",
            *_verdict(),
            *commands,
            "",
            *small.section(),
            *encoder.section(),
            *tuning.section(),
            *own_start.section(),
            *tags.section(),
            *translation.section(),
            *writing.section(),
            *chat.section(),
            *recurrent.section(),
            *features.section(table),
            *transfer.section(),
            *pretraining.section(table),
            *onnx_sst2.section(),
            "## Longer proofs",
            "",
            _proofs(),
            "",
        ]
    )


def _proofs() -> str:
    """The last run of each of the tests that are too long for every day."""
    row = results.read("long-proofs")
    if row is None:
        return NOT_YET
    proofs = row["proofs"]
    # Those of a few seconds are mostly the other cases of tests of which `make test` runs a sample.
    short = [proof for proof in proofs.values() if proof["seconds"] < 20 and proof["outcome"] == "passed"]
    rows = [
        [f"`{name}`", proof["outcome"], f"{proof['seconds']:,.0f}", proof["date"], proof["machine"], proof["torch"]]
        for name, proof in proofs.items()
        if proof not in short
    ]
    others = (
        f"{len(short)} shorter tests with {sum(proof['cases'] for proof in short):,} cases passed, in "
        f"{sum(proof['seconds'] for proof in short):,.0f} seconds together.\n\n"
        if short
        else ""
    )
    return f"{table(['', 'outcome', 'seconds', 'on', 'machine', 'torch'], rows)}\n\n{others}`{row['command']}`"


def _settings(row: Mapping[str, Any]) -> str:
    """What the row was trained with, as the row itself states it."""
    return "".join(f"; {name.replace('_', ' ')} {value}" for name, value in row.get("settings", {}).items())


def _verdict() -> list[str]:
    """The sentences under the table: each of ours against the peer, and against counting."""
    peer, counted = results.read("books-peer"), results.read("books-trigram")
    lines = []
    for name, label in (("books-modernbert", "With ModernBERT's parts"), ("books-ours", "With BERT's parts")):
        row = results.read(name)
        if row is None:
            continue
        if peer is not None:
            times = row["steps"] / peer["steps"]
            lines.append(
                f"{label}, on the books: {_against(row, peer)} the peer's, in {times:.1f} times as many steps."
            )
        if counted is not None:
            lines.append(f"{label}, on the books: {_against(row, counted)} that of counting both neighbours.")
    return [*(f"- {line}" for line in lines), ""]


def _against(row: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """How far a row's loss is from another's, in words."""
    gap = other["scores"]["books"]["loss"] - row["scores"]["books"]["loss"]
    return f"the loss is {abs(gap):.3f} nats {'lower than' if gap > 0 else '**higher** than'}"


def bench_page() -> str:
    """docs/measured/bench.md."""
    parts = [
        BENCH_TEXT,
        engines_speed.summary(),
        "",
        MASKED_WORDS,
        table(
            ["", "seconds a step", "times ours", "peak memory, MB"],
            [line for size in ("mini", "base") for line in _training(size)],
        ),
        *(_share(size) for size in ("mini", "base")),
    ]
    for title, section in (
        ("Engines", engines_speed.section),
        ("Serving", trust.serving),
        ("Start-up", _startup),
        ("Looking", _looking),
        ("The page", page_speed.section),
        ("One attention, four ways", _four_ways),
        ("The formula or the kernel", _formula_or_kernel),
        ("From which length of run on compiling pays", _compiling),
        ("Fine-tuning", encoder.speed),
        ("Translation", training_speed.translation),
        ("Learning to write", training_speed.writing),
    ):
        parts += ["", f"## {title}", "", section()]
    benches = "masked-lm-mini masked-lm-base serving startup looking attention-four-ways formula-or-kernel compiling"
    for name in benches.split():
        row = results.read(f"bench-{name}")
        if row is not None:
            parts.append(f"\n{made_by(row)}")
    return "\n".join([*parts, ""])


_SIZES = {"mini": "BERT-mini, batch 32", "base": "BERT-base, batch 16"}


def _training(size: str) -> list[list[str]]:
    row = results.read(f"bench-masked-lm-{size}")
    if row is None or "peak_megabytes" not in row:  # a row of the bench before it had the expert's peer
        return [[f"**{_SIZES[size]}**", NOT_YET, "", ""]]
    memory = row["peak_megabytes"]
    lines = [[f"**{_SIZES[size]}**", "", "", ""]]
    for system, seconds in row["seconds_per_step"].items():
        times = "1" if system == "ours" else f"**{row['ratio_' + system.removeprefix('peer ')]:.2f}**"
        lines.append([system, f"{seconds:.3f}", times, f"{memory[system]:,.0f}"])
    return lines


def _share(size: str) -> str:
    row = results.read(f"bench-masked-lm-{size}")
    if row is None or "peak_megabytes" not in row:
        return ""
    share, rate = row["share_of_matrix_rate"], row["matrix_rate_gigaflops"]
    return (
        f"\n{_SIZES[size]}: ours reaches {share:.0%} of the matrix rate, {rate:.0f} GFLOP/s in bf16 between the turns."
    )


def _startup() -> str:
    row = results.read("bench-startup")
    if row is None:
        return NOT_YET
    columns = {"seconds": row["seconds"], "of a processor": row.get("processor_seconds")}
    there = {title: values for title, values in columns.items() if values is not None}  # a row of before has one
    return table(
        ["whole process, median", *there],
        [[name, *(f"{values[name]:.3f}" for values in there.values())] for name in row["seconds"]],
    )


def _looking() -> str:
    row = results.read("bench-looking")
    if row is None:
        return NOT_YET
    rows = [["unused taps, share of a BERT-mini forward", f"{row['unwatched_share_of_a_forward']:.4%}"]]
    for of, size in row["default_trace_megabytes"].items():
        slowest, seconds = row["slowest_on_demand"][of], row["slowest_on_demand_seconds"][of]
        rows += [
            [f"default trace, BERT-base, 512 words, {of}", f"{size:.1f} MB"],
            [f"slowest tensor of it on demand, `{slowest}`", f"{seconds:.3f} s"],
        ]
    return table(["", "measured"], rows)


def _four_ways() -> str:
    row = results.read("bench-attention-four-ways")
    if row is None:
        return NOT_YET
    sizes = row["milliseconds"]
    ways = list(next(iter(sizes.values())))
    head = ["float64, one thread", *(f"{size}: ms" if part else "times" for size in sizes for part in (1, 0))]
    rows = [
        [way, *(cell for size in sizes.values() for cell in (f"{size[way]:.3f}", f"{size[way] / size[ways[0]]:.1f}"))]
        for way in ways
    ]
    return (
        table(head, rows)
        + "\n\nThe tests check that the four agree to 1e-12; the second and third are numpy, the last is plain Python."
    )


def _formula_or_kernel() -> str:
    row = results.read("bench-formula-or-kernel")
    if row is None:
        return NOT_YET
    measured = row["milliseconds"]
    head = ["tokens in a row", *(f"{width}: {what}" for width in measured for what in ("formula, ms", "kernel, times"))]
    lengths = list(next(iter(measured.values())))
    rows = [
        [
            f"{int(length):,}",
            *(
                cell
                for sizes in measured.values()
                for cell in (f"{sizes[length]['formula']:.1f}", f"{sizes[length]['times']:.2f}")
            ),
        ]
        for length in lengths
    ]
    return (
        "One layer forward and back, compiled, bf16, 4,096 tokens, heads of 64. Training on a CPU uses the\n"
        f"formula up to {row['largest_held']:,} tokens, and torch's fused kernel beyond. Times: the kernel's over the\n"
        "formula's, for each number that is added to a forbidden score.\n\n" + table(head, rows)
    )


def _compiling() -> str:
    row = results.read("bench-compiling")
    if row is None:
        return NOT_YET
    head = ["modernbert", "eager, s a step", "compiled, s a step", "set-up, cold: s", "warm: s", "pays from, cold: s"]
    rows = []
    for size, found in row["sizes"].items():
        steps = [found["ways"][way]["step"] for way in ("eager", "compiled, warm cache")]
        setups, pays = found["setup_seconds"], found["pays_from_seconds"]["cold"]
        first = "never" if pays is None else f"{pays:.0f}"
        rows.append([size, *(f"{step:.3f}" for step in steps), f"{setups['cold']:.0f}", f"{setups['warm']:.0f}", first])
    return table(head, rows)


if __name__ == "__main__":
    write(DOCS / "measured" / "results.md", books_page())
    write(DOCS / "measured" / "bench.md", bench_page())
    write(DOCS / "do" / "search.md", search.page())
    release.write()
    write(DOCS / "security" / "index.md", trust.security_page())
    write(DOCS / "scale" / "ray.md", trust.ray_page())
    write(DOCS / "scale" / "machines.md", scale.page())
