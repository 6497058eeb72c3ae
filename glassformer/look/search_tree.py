"""A search as a tree: what it looked at, which of it went on, and why the rest did not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from glassformer.decode.record import Node, Recorder
from glassformer.decode.settings import DecodeSettings

FORMAT = 1


@dataclass(frozen=True)
class SearchTree:
    """The search for one answer.

    `source` are the tokens that the encoder read, None for a decoder alone; `prompt` those that the decoder was given
    before the first step: its start token, and the prefix that was asked for. `texts` are the texts of all tokens that
    occur in `nodes`, with their blanks. `text` and `answer` are what was read and what was found, as text. `never` are
    the tokens that no answer has: the search shares their probability among the others.
    """

    settings: DecodeSettings
    source: tuple[int, ...] | None
    prompt: tuple[int, ...]
    nodes: tuple[Node, ...]
    texts: dict[int, str]
    never: tuple[int, ...] = ()
    text: str = ""
    answer: str = ""

    @classmethod
    def of(
        cls,
        recorder: Recorder,
        number: int,
        settings: DecodeSettings,
        *,
        source: Sequence[int] | None,
        prompt: Sequence[int],
        never: Sequence[int] = (),
        text_of: Callable[[int], str] = str,
        text: str = "",
        answer: str = "",
    ) -> SearchTree:
        """What a recorder has kept of the request of this number; `text_of` is the text of one token."""
        nodes = tuple(recorder.nodes.get(number, ()))
        given = None if source is None else tuple(source)
        texts = {token: text_of(token) for token in {node.token for node in nodes}}
        return cls(settings, given, tuple(prompt), nodes, texts, tuple(never), text, answer)

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
        """What was looked at behind a node, or as the first token; the largest total first."""
        number = None if node is None else node.number
        return tuple(sorted((each for each in self.nodes if each.parent == number), key=lambda each: -each.total))

    def decoder_ids(self, node: Node) -> tuple[int, ...]:
        """What the decoder reads in a trace of this node: the prompt and the tokens up to it. An end is not read.

        `model.trace(tree.text, target_ids=tree.decoder_ids(node))` has every number behind it.
        """
        tokens = [each.token for each in self.path(node)]
        return (*self.prompt, *(tokens[:-1] if node.finished else tokens))

    def text_of(self, node: Node) -> str:
        """The texts of the tokens up to a node, one behind the other."""
        return "".join(self.texts[each.token] for each in self.path(node)).strip()

    def to_dict(self) -> dict[str, Any]:
        """As JSON: the settings, the tokens, and each node by its number."""
        return {
            "format": FORMAT,
            "settings": self.settings.model_dump(mode="json"),
            "text": self.text,
            "answer": self.answer,
            "source": None if self.source is None else list(self.source),
            "prompt": list(self.prompt),
            "never": list(self.never),
            "texts": {str(token): text for token, text in sorted(self.texts.items())},
            "answers": [node.number for node in self.answers],
            "nodes": [asdict(node) for node in self.nodes],
        }

    def __str__(self) -> str:
        from glassformer.look.search_text import tree_lines  # most trees are never printed

        return "\n".join(tree_lines(self))
