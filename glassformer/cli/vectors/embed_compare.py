from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from glassformer.base.errors import ConfigError, DataError, from_system
from glassformer.base.wrapping import printable
from glassformer.cli.terminal import options
from glassformer.cli.terminal.destination import set_aside
from glassformer.cli.terminal.opened import Machine, split_model
from glassformer.cli.terminal.screen import console, note, print_table, record, results
from glassformer.cli.vectors.embed import note_poolings
from glassformer.cli.vectors.embed_compare_rows import Example, drawn, groups_of, tell_of_labels, texts_of, words_of
from glassformer.data.readers.lines import stop_unless

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.features.pooling import Reals
    from glassformer.features.rank import Ranked, Ranking
    from glassformer.scoring.score import Integers

MOST_ROWS = 5000
_SCORES = {"accuracy": "accuracy", "macro-f1": "macro F1"}
# Texts that are made into vectors together.
_TOGETHER = 512

_FILES = (
    f"Tables with a text and a label ({options.TABLES}); with --per-word, files of tagged words (.conll, .conllu, "
    ".jsonl)."
)
_WORDS_COLUMN = f"{options.COLUMNS['words']}  [default: {options.OF_TAGGED['words']}]"
_TAGS_COLUMN = f"{options.COLUMNS['tags']}  [default: {options.OF_TAGGED['tags']}]"
_STRATEGY = (
    f"{options.LAYERS}  Also mix, a learned mix of all layers. Repeatable.  [default: embedding, last, second-to-last, "
    "sum-all, sum-last-4, concat-last-4, concat:0,-1 and mix, if the model has these layers]"
)
_POOLING = f"{options.POOLING}  Repeatable.  [default: first, mean and max; with --per-word: first and mean]"
_ROWS = f"{options.ROWS}  With --per-word, the limit counts words. Larger inputs are sampled."
_REPEATS = "Number of repetitions of the cross-validation."
_MIX_OUT = "Write the learned mix of layers to this file, for --strategy mix:FILE.  [default: none]"
_PROBE_OUT = (
    "Fit a logistic regression to the best vectors and all labels, and write it to this file. With --probe FILE, "
    "explain --html and explore show it.  [default: none]"
)


def embed_compare(
    files: Annotated[list[str] | None, typer.Argument(metavar="[MODEL] FILES", help=_FILES, show_default=False)] = None,
    model: options.NamedModel = None,
    text_column: options.TextColumn = "text",
    label_column: Annotated[str, typer.Option("--label-column", help=options.COLUMNS["label"])] = "label",
    per_word: options.Words = False,
    words_column: Annotated[str | None, typer.Option("--words-column", help=_WORDS_COLUMN)] = None,
    tags_column: Annotated[str | None, typer.Option("--tags-column", help=_TAGS_COLUMN)] = None,
    strategy: Annotated[list[str] | None, typer.Option("--strategy", "-s", metavar="STRATEGY", help=_STRATEGY)] = None,
    pooling: Annotated[list[str] | None, typer.Option("--pooling", "-p", metavar="POOLING", help=_POOLING)] = None,
    rows: Annotated[int, typer.Option("--rows", min=10, help=_ROWS)] = MOST_ROWS,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Number of folds of the cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help=_REPEATS)] = 1,
    score: Annotated[Literal["accuracy", "macro-f1"], typer.Option("--score", help="Score to rank by.")] = "accuracy",
    seed: options.Seed = 0,
    mix_out: Annotated[Path | None, typer.Option("--mix-out", writable=True, help=_MIX_OUT)] = None,
    probe_out: Annotated[Path | None, typer.Option("--probe-out", writable=True, help=_PROBE_OUT)] = None,
    out: options.Out = None,
    rejects: options.Rejects = None,
    json: options.Json = False,
    fast: options.Fast = False,
    device: options.Device = "auto",
    threads: options.Threads = None,
) -> None:
    """Rank strategies and poolings by how well a logistic regression on their vectors predicts your labels
    (cross-validated). The default strategies are the six of the BERT paper, concat:0,-1 and a learned mix of all
    layers.
    """
    words = per_word
    from glassformer.data.readers.files import files_of

    if probe_out is not None and words:
        raise ConfigError("a logistic regression is written for texts", got="--probe-out with --per-word")
    which, paths = split_model("embed compare", files, model, is_data=lambda path: Path(path).exists())
    if not paths:
        raise DataError("a file with texts and labels is needed", got="none", do="glassformer embed compare --help")
    read = files_of(paths, text=text_column, reads="words" if words else "tables")
    if mix_out is not None and strategy and "mix" not in strategy:
        raise ConfigError("a mix is written where one was learned", got="--mix-out without the strategy mix")
    opened = Machine(device, threads, fast).open(which)
    asked = list(pooling or (["first", "mean", "max"] if not words else ["first", "mean"]))
    note_poolings(opened, asked)
    with set_aside(rejects, read) as aside:
        bad = aside or stop_unless("rejects")
        examples = (
            words_of(read, words_column, tags_column, bad) if words else texts_of(read, text_column, label_column, bad)
        )
    with results(out) as handle:  # before the work: what cannot be written is refused at once
        made = _ranked(
            opened, examples, list(strategy or ()), asked, rows, words=words, folds=folds, repeats=repeats,
            score=_SCORES[score], seed=seed,
        )  # fmt: skip
        found = made.ranking
        if json:
            for each in (*found.vectors, *found.baselines):
                record(as_record(found, each), handle)
        else:
            _show(found, "words" if words else "texts", handle)
    if mix_out is not None:
        write_mix_of(mix_out, found)
    if probe_out is not None:
        write_probe_of(probe_out, made, opened, read)


def _ranked(
    model: Model,
    examples: list[Example],
    strategies: list[str],
    poolings: list[str],
    rows: int,
    *,
    words: bool,
    folds: int,
    repeats: int,
    score: str,
    seed: int,
) -> Made:
    import numpy as np

    from glassformer.features.embed import embed, vectors_of
    from glassformer.features.rank import MOST_LABELS, check_labels, rank
    from glassformer.features.strategies import BLOCKS, ENDS, SIX, resolve
    from glassformer.features.vectors import blocks_of
    from glassformer.scoring.baselines import ACCURACY
    from glassformer.training.progress import ConsoleProgress

    blocks = blocks_of(model.module)
    if not strategies:
        strategies = [name for name in SIX if blocks >= BLOCKS.get(name, 0)]
        left = [name for name in SIX if name not in strategies]
        if left:
            note(f"left out, as the model has {blocks} blocks: {', '.join(left)}")
        strategies += [ENDS, "mix"]
    mixed = [each for each in poolings if each != "max"] if "mix" in strategies else []
    if "mix" in strategies and not mixed:
        raise ConfigError("a mix is learned with the poolings first, mean or last-token", got="max")
    plain = [each for each in strategies if each != "mix"]
    for each in plain:
        resolve(each, blocks)
    kept = drawn(examples, rows, seed)
    labels = [label for each in kept for label in each.labels]
    names, numbers = np.unique(np.array(labels, object), return_inverse=True)
    # Copies of a text are one group: else the fold that is measured on would hold texts that were learned from.
    groups = groups_of(kept)
    check_labels(names.tolist(), numbers, folds, groups, words=words)
    tell_of_labels(examples, kept, folds)
    if score != ACCURACY and len(names) > MOST_LABELS:
        note(f"{len(names):,} labels are ranked by accuracy: macro F1 is computed for at most {MOST_LABELS}")
    layers = [str(layer) for layer in range(blocks + 1)] if mixed else []
    maker = vectors_of(model, [*plain, *(each for each in layers if each not in plain)], poolings, words=words)
    arrays: dict[str, list[Any]] = {feature.name: [] for feature in maker.features}
    progress = ConsoleProgress()
    with progress.counting("texts", total=len(kept)) as advance:
        for start in range(0, len(kept), _TOGETHER):
            some = kept[start : start + _TOGETHER]
            for made in embed(model, maker, ((each.values, each.where) for each in some)):
                for name, of in made.vectors.items():
                    arrays[name].append(of if words else of[None])
            advance(len(some))
    vectors = {name: np.concatenate(arrays[name]) for name in arrays}
    wanted = maker.features[: len(set(plain)) * len(set(poolings))]  # before those of single layers
    chosen = {feature.name: vectors[feature.name] for feature in wanted}
    of_layers = {each: np.stack([vectors[f"{layer}.{each}"] for layer in layers], axis=1) for each in mixed}
    texts = None if words else [str(each.values["text"]) for each in kept]
    total = (len(chosen) + len(of_layers) + 1 + (texts is not None)) * folds * repeats
    with progress.counting("fits", total=total) as advance:
        found = rank(
            chosen, of_layers, texts, labels, groups, folds=folds, repeats=repeats, score=score, seed=seed,
            advance=advance,
        )  # fmt: skip
    return Made(found, chosen, of_layers, labels, groups)


def as_record(found: Ranking, each: Ranked) -> dict[str, Any]:
    strategy, _, pooling = each.name.rpartition(".")
    named = {"strategy": strategy, "pooling": pooling} if each in found.vectors else {"baseline": each.name}
    shares = {"shares": list(found.mixes[pooling].shares)} if strategy == "mix" else {}
    difference = None if each.from_best is None else each.from_best._asdict()
    scores = {name.replace(" ", "_"): interval._asdict() for name, interval in each.scores.items()}
    return {**named, **scores, "behind_the_best": difference, **shares}


def _show(found: Ranking, what: str, handle: Any) -> None:
    screen = console(handle)
    heads = ("", "strategy", "pooling", f"{found.score}, %", "minus the best")
    rows = []
    for place, each in enumerate((*found.vectors, *found.baselines), start=1):
        of_vectors = place <= len(found.vectors)
        strategy, _, pooling = each.name.rpartition(".") if of_vectors else (each.name, "", "")
        score = " … ".join(f"{100 * end:.1f}" for end in each.scores[found.score][1:])
        ends = "" if each.from_best is None else " … ".join(_points(end) for end in each.from_best[1:])
        own = f"{100 * each.scores[found.score].value:.1f} ({score})"
        less = "" if each.from_best is None else f"{_points(each.from_best.value)} ({ends})"
        rows.append((str(place) if of_vectors else "", printable(strategy), pooling, own, less))
    print_table(screen, heads, rows, (0, 3, 4))
    for pooling, mix in found.mixes.items():
        shares = ", ".join(f"{share:.0%}" for share in mix.shares)
        screen.print(f"mix with {pooling}: of the embedding and each block {shares}", markup=False)
    repeats = "" if found.repeats == 1 else f", {found.repeats} times"
    drawn_of = "sentences" if what == "words" else "texts"
    best = found.vectors[0].name
    screen.print(
        f"logistic regression, {found.folds} folds{repeats}, {found.examples:,} {what}, {len(found.labels)} labels; "
        f"in brackets 95 % intervals by bootstrap over {drawn_of}, of the difference in points. "
        f"Best: {best}; {_compared(found)}.",
        markup=False,
    )


def _compared(found: Ranking) -> str:
    """What the best vectors do not clearly differ from, and which baselines are better, in words."""
    best = found.vectors[0].name
    from_best = {each.name: each.from_best for each in found.baselines if each.from_best is not None}
    better = [name for name, difference in from_best.items() if difference.low > 0]
    equal = [name for name, difference in from_best.items() if difference.low <= 0 <= difference.high]
    named = {
        "better than it": better,
        "not clearly different from it": [name for name in found.together if name != best] + equal,
    }
    said = [f"{what}: {', '.join(names)}" for what, names in named.items() if names]
    return "; ".join(said) or "all others score worse"


def _points(value: float) -> str:
    return f"{100 * value:+.1f}".replace("-", "−")


@dataclass(frozen=True)
class Made:
    """A ranking with vectors [E, F] by name, layers [E, K, F] of a mix by pooling, labels and groups [E]."""

    ranking: Ranking
    vectors: Mapping[str, Reals]
    layers: Mapping[str, Reals]
    labels: Sequence[str]
    groups: Integers


def write_mix_of(path: Path, found: Ranking) -> None:
    from glassformer.features.strategies import write_mix

    names = [each.name for each in found.vectors if each.name.startswith("mix.")]
    pooling = names[0].removeprefix("mix.")
    with from_system(DataError, f"cannot write the mix to {path}"):
        write_mix(path, found.mixes[pooling])
    note(f"{path}: the mix learned with the pooling {pooling}, on all {found.examples:,} labels")


def write_probe_of(path: Path, made: Made, model: Model, files: Sequence[Path]) -> None:
    from glassformer.features.probe import learn_probe, write_probe
    from glassformer.models.transformer import fingerprint

    found = made.ranking
    best = found.vectors[0]
    strategy, _, pooling = best.name.rpartition(".")
    mix = found.mixes[pooling] if strategy == "mix" else None
    vectors = made.vectors[best.name] if mix is None else mix.of_pooled(made.layers[pooling])  # [E, F]
    score = best.scores[found.score]
    probe = learn_probe(
        vectors,
        made.labels,
        strategy=strategy,
        pooling=pooling,
        model=fingerprint(model.module),
        mix=mix,
        groups=made.groups,
        score=found.score,
        learned={
            "from": ", ".join(file.name for file in files),
            "texts": found.examples,
            "score": found.score,
            "value": score.value,
            "low": score.low,
            "high": score.high,
            "folds": found.folds,
            "baselines": {each.name: each.scores[found.score].value for each in found.baselines},
        },
    )
    with from_system(DataError, f"cannot write the logistic regression to {path}"):
        write_probe(path, probe)
    note(f"{path}: a logistic regression on {best.name}, learned on all {found.examples:,} labels")
