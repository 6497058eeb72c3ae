"""A search as a tree: what it looked at, which of it went on, and why the rest did not."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from glassformer.base.lines import columns_of, label, wrapped
from glassformer.decode.attention import KeptAttention
from glassformer.decode.record import FATES, Node, Recorder
from glassformer.decode.settings import DecodeSettings
from glassformer.text.token_text import marked

FORMAT = 1


@dataclass(frozen=True)
class SearchTree:
    """The search for one answer. `source`: the encoder's tokens, None without one; `prompt`: what the decoder read
    before the first step; `texts` of all tokens in `nodes`; `never`: tokens no answer has; `turns` that a reply
    answers, the last one; `ends` end an answer; `most`: tokens that the decoder reads. `attention`: where each step
    looked, if kept.
    """

    settings: DecodeSettings
    source: tuple[int, ...] | None
    prompt: tuple[int, ...]
    nodes: tuple[Node, ...]
    texts: dict[int, str]
    never: tuple[int, ...] = ()
    text: str = ""
    answer: str = ""
    turns: tuple[str, ...] = ()
    ends: tuple[int, ...] = ()
    most: int | None = None
    attention: KeptAttention | None = None

    @cached_property
    def steps(self) -> tuple[tuple[Node, ...], ...]:
        """The nodes of each step, those with the largest totals first, the forbidden ones last."""
        count = max((node.step for node in self.nodes), default=-1) + 1
        found: list[list[Node]] = [[] for _ in range(count)]
        for node in self.nodes:
            found[node.step].append(node)
        return tuple(map(tuple, found))

    @cached_property
    def answers(self) -> tuple[Node, ...]:
        """The last node of each complete answer, the best first; of samples in their own order. At most as many as
        there are beams.
        """
        found = [node for node in self.nodes if node.fate == "answer"]
        if self.settings.method != "beam":
            return tuple(sorted(found, key=lambda node: node.hypothesis))
        return tuple(sorted(found, key=lambda node: -node.score)[: self.settings.beams])

    @property
    def best(self) -> Node | None:
        """The last node of the best answer, or of the first sample; None where there is no answer."""
        return self.answers[0] if self.answers else None

    def path(self, node: Node) -> tuple[Node, ...]:
        """The nodes from the first step to this one."""
        found = [node]
        while found[-1].parent is not None:
            found.append(self.nodes[found[-1].parent])
        return tuple(reversed(found))

    def children(self, node: Node | None) -> tuple[Node, ...]:
        """What was looked at after a node, or as the first token; the largest total first."""
        number = None if node is None else node.number
        return tuple(sorted((each for each in self.nodes if each.parent == number), key=lambda each: -each.total))

    def decoder_ids(self, node: Node) -> tuple[int, ...]:
        """What the decoder reads in a trace of this node: the prompt and the tokens up to it. An end is not read.
        `model.trace(tree.text, target_ids=tree.decoder_ids(node))` has every number that it was computed from.
        """
        tokens = [each.token for each in self.path(node)]
        return (*self.prompt, *(tokens[:-1] if node.finished else tokens))

    def whole_ids(self, node: Node) -> tuple[int, ...]:
        """The same with the token of this node where it is no end: all that was written, as far as it is read."""
        last = () if node.token in self.ends or not node.finished else (node.token,)
        return (*self.decoder_ids(node), *last)[: self.most]

    def text_of(self, node: Node) -> str:
        """The texts of the tokens up to a node, joined."""
        return "".join(self.texts[each.token] for each in self.path(node)).strip()

    def to_dict(self) -> dict[str, Any]:
        """As JSON: the settings, the tokens, and each node by its number."""
        return {
            "format": FORMAT,
            "settings": self.settings.model_dump(mode="json"),
            "text": self.text,
            "answer": self.answer,
            "turns": list(self.turns),
            "ends": list(self.ends),
            "most": self.most,
            "source": None if self.source is None else list(self.source),
            "prompt": list(self.prompt),
            "never": list(self.never),
            "texts": {str(token): text for token, text in sorted(self.texts.items())},
            "answers": [node.number for node in self.answers],
            "nodes": [asdict(node) for node in self.nodes],
        }

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return "\n".join(tree_lines(self))


def recorded(
    recorder: Recorder, number: int, text_of: Callable[[int], str] = str
) -> tuple[tuple[Node, ...], dict[int, str], KeptAttention | None]:
    """The nodes of a request, the texts of their tokens, and the attention that was kept: fields of its tree."""
    nodes = tuple(recorder.nodes.get(number, ()))
    kept = None if recorder.attention is None else recorder.attention.kept.get(number)
    return nodes, {token: text_of(token) for token in {node.token for node in nodes}}, kept


WIDTH = 80
NUMBERS = 24  # The columns of the numbers at the right


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
    yield from wrapped(settings_line(tree.settings), width)
    kept = sum(node.fate in GOES_ON for node in tree.nodes)
    counts = f"{len(tree.steps)} steps, {len(tree.nodes)} candidates, {kept} kept; ▶ leads to the best answer"
    yield from wrapped(counts, width)
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
    if settings.method == "greedy":
        return "greedy search: the likeliest token each time"
    if settings.method == "sample":
        cuts = [
            f"{name.replace('_', '-')} {value:g}"
            for name in ("top_k", "top_p", "min_p")
            if (value := getattr(settings, name)) is not None
        ]
        drawn = f"samples: {settings.n_best}, temperature {settings.temperature:g}"
        return ", ".join([drawn, *cuts, f"seed {settings.seed}"])
    alpha = settings.length_penalty
    divisor = f"n^{alpha:g}" if settings.length_penalty_form == "power" else f"((5 + n) / 6)^{alpha:g}"
    more = f" + coverage, β {settings.coverage_penalty:g}" if settings.coverage_penalty else ""
    return f"beam of {settings.beams}: score = total / {divisor}{more}, of n tokens"


def _ordered(nodes: Sequence[Node], best: set[int]) -> list[Node]:
    """Those that went on or ended: the one on the best path first, then by their totals."""
    return sorted((node for node in nodes if node.fate in GOES_ON), key=lambda node: node.number not in best)


def _line(tree: SearchTree, chain: Sequence[Node], depth: int, rank: int | None, best: bool, width: int) -> str:
    last = chain[-1]
    words = marked("".join(tree.texts[node.token] for node in chain))
    left = f"{_indent(depth, width)}{'▶' if best else '·'} {words}"
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
        probabilities = ", ".join(f"{marked(tree.texts[node.token])} {node.total:.3f}" for node in out)
        yield label(f"{_indent(depth, width)}╌ {short}: {probabilities}", width)


def _indent(depth: int, width: int) -> str:
    """Blanks for a level, at most half of the room for words; deeper levels have their number."""
    most = (width - NUMBERS) // 4
    return "  " * depth if depth <= most else f"{'  ' * most}{depth} "


SHORT = {
    "below": "below the beam",
    "unlikely": "less likely",
    "ended": "ended too low",
    "cut": "left out",
    "wordless": "without the words",
}
