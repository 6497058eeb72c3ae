"""The first table of docs/measured/bench.md, and the part on engines, from docs/results/bench-*.json and gpu.json."""

from collections.abc import Iterator, Mapping
from typing import Any

from bench.engines import LENGTHS
from experiments import results
from experiments.page import NOT_YET, made_by, table

ENGINES = {
    "translation": "Translating",
    "vectors": "Vectors of sentences",
    "query": "One query",
    "tasks": "Labels, tags and answers",
    "generation": "Writing",
}
_HEAD = ["", "ours", "times as fast as (least … largest of the turns)", "a second", "of the limit", "answers"]
_TEXT = """\
Each line is one of our engines; above 1 it is faster. A peer that can be used in several ways counts with its fastest
way. *Of the limit*: the operations or bytes that the work needs at least, of what the machine does in the same run: the
fastest product of large matrices that torch has here (MKL's, or oneDNN's laid out or not) in the type that is used, or
a sum over an array far beyond the caches. *Answers*: the share that equals those of `torch` (of vectors the least
cosine with those of transformers; of random GPT-2 weights the tokens of transformers)."""
# Rows of training: what they are, and where a row has the speed, the ratios and the share of the limit.
_TRAINED = {
    "masked-lm-mini": "train masked words, BERT-mini",
    "masked-lm-base": "train masked words, BERT-base",
    "language-model": "train GPT-2, 4 layers of 256",
    "translation-training": "train a translator",
    "fine-tuning-sst2": "fine-tune, sst2",
}


def summary() -> str:
    """All rows in one table, and what the machines do at most."""
    rows = [line for name in ENGINES for line in _engines(name)]
    rows += [line for name, what in _TRAINED.items() for line in _training(name, what)]
    rows += [*_start(), *_gpu()]
    limits = [_limits(name, row) for name in ENGINES for row in results.read_each(f"bench-engines-{name}")]
    return "\n\n".join([_TEXT, table(_HEAD, rows, numbers=False), *(["\n".join(limits)] if limits else [])])


def _widest(row: Mapping[str, Any]) -> str:
    return " (AVX2)" if "(AVX2)" in row["machine"] else ""


def _engines(name: str) -> Iterator[list[str]]:
    rows = results.read_each(f"bench-engines-{name}")
    for row in rows:
        yield from _lines(row)
    if not rows:
        yield [ENGINES[name], "", NOT_YET, "", "", ""]


def _lines(row: Mapping[str, Any]) -> Iterator[list[str]]:
    for case, of in row["cases"].items():
        what = (row["title"] if len(row["cases"]) == 1 else f"{row['title']}, {case}") + _widest(row)
        for system, peers in of["times"].items():
            each = (f"{peer} **{ratio[0]:.2f}** ({ratio[1]:.2f} … {ratio[2]:.2f})" for peer, ratio in peers.items())
            shown = "" if row["vnni"] or "int8" not in system else " (no VNNI here)"
            yield [
                what,
                system.removeprefix("ours, ") + shown,
                ", ".join(each),
                f"{of['per_second'][system]:,.0f} {of['unit']}",
                f"{share:.0%}" if (share := of["share_of_limit"].get(system)) is not None else "",
                _answers(of["as_the_judge"][system]),
            ]
    for system, why in row["left_out"].items():
        if system.startswith("ours"):
            yield [row["title"], system.removeprefix("ours, "), f"not measured: {why}", "", "", ""]


def _answers(found: Mapping[str, float]) -> str:
    return f"{found['equal']:.1%}" if "equal" in found else f"cosine {found['least_cosine']:.6f}"


def _limits(name: str, row: Mapping[str, Any]) -> str:
    most = row["limits"]
    rates = ", ".join(f"{most[kind] / 1e9:,.0f} GFLOP/s in {kind}" for kind in most if kind != "memory")
    return (
        f"- {name}: {rates}, {most['memory'] / 1e9:.1f} GB/s; {row['threads']} threads, {row['turns']} turns. "
        f"{made_by(row)}"
    )


def _training(name: str, what: str) -> Iterator[list[str]]:
    rows = results.read_each(f"bench-{name}")
    for row in rows:
        ratios = row.get("ratios") or {each[6:]: row[each] for each in row if each.startswith("ratio_")}
        of = {peer.removeprefix("ours over "): of for peer, of in ratios.items() if "ours compiled" not in peer}
        speed = row["tokens_per_second"]
        each = f"{speed['ours'] if isinstance(speed, dict) else speed:,.0f} tokens"
        share = f"{row['share_of_matrix_rate']:.0%}" if "share_of_matrix_rate" in row else ""
        times = ", ".join(f"{peer} **{ratio:.2f}**" for peer, ratio in of.items())
        yield [what + _widest(row), "torch", times, each, share, ""]
    if not rows:
        yield [what, "torch", NOT_YET, "", "", ""]


def _start() -> Iterator[list[str]]:
    row = results.read("bench-startup")
    for name, seconds in {} if row is None else row["seconds"].items():
        if name.startswith("glassformer fill"):
            yield [f"`{name}`, whole process", "", "", f"{seconds:.2f} s", "", ""]


def _gpu() -> Iterator[list[str]]:
    """The measures of the run on a GPU."""
    row = results.read("gpu")
    if row is None:
        yield ["a GPU (`python -m bench gpu`)", "", NOT_YET, "", "", ""]
        return
    for part in ("masked_words", "gpt2", "decoding", "vectors"):
        for unit in ("tokens", "texts"):
            its = row.get(part, {})
            speeds = dict(its.get(f"{unit}_per_second", {}))
            if mine := speeds.pop("ours", None):
                times = ", ".join(f"{peer} **{mine / speed:.2f}**" for peer, speed in speeds.items())
                same = {name: its[name] for name in ("equal", "least_cosine") if name in its}
                shown = _answers(same) if same else ""
                yield [f"{row['device']}: {part.replace('_', ' ')}", "torch", times, f"{mine:,.0f} {unit}", "", shown]


def section() -> str:
    """Each row with all its systems."""
    parts = []
    for name, title in ENGINES.items():
        parts += [f"### {title}", *([_systems(row) for row in results.read_each(f"bench-engines-{name}")] or [NOT_YET])]
    return "\n\n".join([*parts, "### Lengths and numbers of texts", _lengths()])


def _lengths() -> str:
    """Our tokens a second for each length and number of texts at once, next to those of the peers."""
    head = [
        "tokens of a text",
        "at once",
        "ours, torch: a second",
        "of the limit",
        "times transformers",
        "times onnxruntime",
    ]
    head += ["ours, onnxruntime: a second", "peak, MB: ours", "transformers", "onnxruntime"]
    rows, made = [], []
    for length in LENGTHS:
        name = f"lengths-{length}"
        measured = results.read_each(f"bench-engines-{name}")
        made += [_limits(name, row) for row in measured]
        for row, case, of in ((each, *its) for each in measured for its in each["cases"].items()):
            peak, speed, times = of["peak_megabytes"], of["per_second"], of["times"]["ours, torch"]
            rows.append(
                [
                    f"{length:,}{_widest(row)}",
                    case.split()[0],
                    f"{speed['ours, torch']:,.0f}",
                    f"{of['share_of_limit']['ours, torch']:.0%}",
                    f"**{times['transformers'][0]:.2f}**",
                    f"**{times['onnxruntime'][0]:.2f}**",
                    f"{speed['ours, onnxruntime']:,.0f}",
                    *(f"{peak[system]:,.0f}" for system in ("ours, torch", "transformers", "onnxruntime")),
                ]
            )
    return "\n\n".join([table(head, rows), "\n".join(made)]) if rows else NOT_YET


def _systems(row: Mapping[str, Any]) -> str:
    head = ["", "a second", "turns", "of the limit", "answers", "peak, MB"]
    parts = []
    for case, of in row["cases"].items():
        rows = [
            [
                system,
                f"{speed:,.1f}",
                " … ".join(f"{each:,.1f}" for each in of["spread"][system]),
                f"{share:.0%}" if (share := of["share_of_limit"].get(system)) is not None else "",
                _answers(of["as_the_judge"][system]),
                f"{of.get('peak_megabytes', row['peak_megabytes'])[system]:,.0f}",
            ]
            for system, speed in of["per_second"].items()
        ]
        parts.append(f"{row['title']}, {case}: {of['count']:,} {of['unit']}\n\n{table(head, rows)}")
    parts += [f"{system}: {why}." for system, why in row["left_out"].items()]
    return "\n\n".join([*parts, made_by(row)])
