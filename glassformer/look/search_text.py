"""A search tree on the lines of a terminal: a line for each stretch without a branch, below it what was not kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from glassformer.decode.record import FATES, Node
from glassformer.decode.settings import DecodeSettings
from glassformer.look.lines import columns_of, label
from glassformer.look.search_tree import SearchTree

WIDTH = 80
NUMBERS = 24
"""The columns of the numbers at the right."""


def tree_lines(tree: SearchTree, width: int = WIDTH) -> Iterator[str]:
    """The lines of a tree, none wider than `width` columns."""
    best = {node.number for node in tree.path(tree.best)} if tree.best is not None else set()
    ranks = {node.number: rank for rank, node in enumerate(tree.answers, start=1)}
    children: dict[int | None, list[Node]] = {}
    for node in sorted(tree.nodes, key=lambda each: -each.total):
        children.setdefault(node.parent, []).append(node)
    if tree.text:
        yield label(tree.text, width)
        yield label(f"→ {tree.answer}", width)
    yield settings_line(tree.settings)
    kept = sum(node.fate in GOES_ON for node in tree.nodes)
    yield f"{len(tree.steps)} steps, {len(tree.nodes)} candidates, {kept} kept; ▶ leads to the best answer"
    yield ""
    yield f"{'':{width - NUMBERS}}{'total':>10}{'score':>10}"
    waiting: list[tuple[Node, int]] = [(node, 0) for node in _ordered(children.get(None, ()), best)]
    yield from _left(tree, children.get(None, ()), 0, width)
    waiting.reverse()
    while waiting:
        node, depth = waiting.pop()
        chain = [node]
        while True:
            below = children.get(chain[-1].number, [])
            on = _ordered(below, best)
            if len(on) != 1 or any(each.fate not in GOES_ON for each in below):
                break
            chain.append(on[0])
        last = chain[-1]
        yield _line(tree, chain, depth, ranks.get(last.number), last.number in best, width)
        below = children.get(last.number, [])
        yield from _left(tree, below, depth + 1, width)
        waiting += [(each, depth + 1) for each in reversed(_ordered(below, best))]


GOES_ON = ("kept", "answer", "hopeless")


def settings_line(settings: DecodeSettings) -> str:
    """How the search was made, in one line."""
    if settings.method == "greedy":
        return "greedy search: the likeliest token each time"
    if settings.method == "sample":
        cuts = [
            f"{name.replace('_', '-')} {value:g}"
            for name in ("top_k", "top_p", "min_p")
            if (value := getattr(settings, name)) is not None
        ]
        return ", ".join([f"samples: {settings.n_best}, temperature {settings.temperature:g}", *cuts])
    alpha = settings.length_penalty
    divisor = f"n^{alpha:g}" if settings.length_penalty_form == "power" else f"((5 + n) / 6)^{alpha:g}"
    more = f" + coverage, β {settings.coverage_penalty:g}" if settings.coverage_penalty else ""
    return f"beam of {settings.beams}: score = total / {divisor}{more}, of n tokens"


def _ordered(nodes: Sequence[Node], best: set[int]) -> list[Node]:
    """Those that went on or ended: the one on the best path first, then by their totals."""
    return sorted((node for node in nodes if node.fate in GOES_ON), key=lambda node: node.number not in best)


def _line(tree: SearchTree, chain: Sequence[Node], depth: int, rank: int | None, best: bool, width: int) -> str:
    last = chain[-1]
    words = "".join(tree.texts[node.token] for node in chain).strip() or "␣"
    left = f"{'  ' * min(depth, 16)}{'▶' if best else '·'} {words}"
    mark = {"hopeless": "given up", "kept": ""}.get(last.fate, f"answer {rank}" if rank else "answer")
    score = f"{last.score:.3f}" if last.fate == "answer" else mark
    room = width - NUMBERS
    shown = label(left, room - (len(mark) + 1 if last.fate == "answer" else 1))
    blanks = " " * (room - columns_of(shown) - (len(mark) if last.fate == "answer" else 0))
    return f"{shown}{blanks}{mark if last.fate == 'answer' else ''}{last.total:>10.3f}{score:>10}".rstrip()


def _left(tree: SearchTree, nodes: Sequence[Node], depth: int, width: int) -> Iterator[str]:
    """What was looked at there and not kept, by why."""
    for fate, why in FATES.items():
        out = [node for node in nodes if node.fate == fate and fate not in GOES_ON]
        if not out:
            continue
        short = why.partition(":")[0] if fate == "forbidden" else SHORT.get(fate, why)
        told = ", ".join(f"{tree.texts[node.token].strip() or '␣'} {node.total:.3f}" for node in out)
        yield label(f"{'  ' * min(depth, 16)}╌ {short}: {told}", width)


SHORT = {
    "below": "below the beam",
    "unlikely": "less likely",
    "ended": "ended too low",
    "cut": "left out",
    "wordless": "without the words",
}
