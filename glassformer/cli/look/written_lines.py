"""A generated text on a terminal: who looked at whom, and at each step the candidates and why one was chosen."""

import math
from collections.abc import Iterator, Sequence

from torch import Tensor

from glassformer.base.lines import USUAL, grid, indented, label, padded, wrapped
from glassformer.base.wrapping import in_one_line
from glassformer.decode.record import FATES, Node
from glassformer.look.texts.tree import SearchTree, settings_line
from glassformer.look.texts.written import Looks, path_of
from glassformer.text.token_text import marked

WORD, NAMED = 14, 5
"""The most columns of a word, and the words that a step looked at most which are named."""
EDGE = WORD + 6


def written_lines(
    tree: SearchTree, looks: Looks, read: Sequence[str], source: Sequence[str] = (), width: int = USUAL
) -> Iterator[str]:
    """The lines of the best answer; `read` are the tokens that the decoder read, `source` those of the encoder."""
    path = path_of(tree)
    for number, turn in enumerate(tree.turns):
        said_by = "model" if (len(tree.turns) - number) % 2 == 0 else "you"  # the last turn is the reader's
        yield from wrapped(f"{said_by}: {in_one_line(turn)}", width)
    if not tree.turns:
        yield from wrapped(f"given: {in_one_line(tree.text)}", width)
    yield from wrapped(f"written: {in_one_line(tree.answer)}", width)
    yield from wrapped(f"{len(path)} tokens; {settings_line(tree.settings)}", width)
    blocks = sum(".self_attention." in name for name in looks.kept.names)
    yield from wrapped(
        f"attention kept for each head of {blocks} blocks, at each step: {looks.kept.nbytes / 1e6:.2f} MB", width
    )
    yield ""
    yield from triangle_lines(looks, path, len(tree.prompt), read, width)
    for number, node in enumerate(path, start=1):
        yield ""
        yield from step_lines(tree, looks, node, number, read, source, width)


def triangle_lines(
    looks: Looks, path: Sequence[Node], prompt: int, read: Sequence[str], width: int = USUAL
) -> Iterator[str]:
    """Attention: a row for each token that was read, growing with the text."""
    square = looks.square(path)  # [T, T]
    size = len(square)
    first = max(0, size - (width - EDGE))
    rows = range(0 if size <= 2 * NAMED * 4 else max(0, prompt - 1), size)
    yield from wrapped(
        f"Attention, {looks.in_words}: a row for each token, a column for each that it may look at: itself and "
        f"those before it. The look-ahead mask hides later ones. Digits are tenths, · is less.",
        width,
    )
    if first:
        yield f"(columns from token {first + 1} on)"
    yield " " * EDGE + "".join(str((column + 1) % 10) for column in range(first, size))
    for place in rows:
        cells = "".join("·" if weight < 0.1 else str(min(9, int(weight * 10))) for weight in square[place].tolist())
        sign = "+" if place >= prompt else " "
        yield f"{place + 1:>3} {sign}{padded(label(read[place], WORD), WORD)} {cells[first : place + 1]}"
    yield from wrapped("+ was generated: its row was computed as soon as it was chosen", width, first=4, rest=6)


def step_lines(
    tree: SearchTree,
    looks: Looks,
    node: Node,
    number: int,
    read: Sequence[str],
    source: Sequence[str] = (),
    width: int = USUAL,
) -> Iterator[str]:
    """One step: what it looked at, the tokens that came into question, and why one of them was chosen."""
    before = read[min(len(tree.prompt) + number - 2, len(read) - 1)]
    yield from wrapped(f"step {number}: after “{in_one_line(before)}” the model wrote “{word_of(tree, node)}”", width)
    row, crossing = looks.row(node), looks.row(node, crossing=True)
    assert row is not None
    yield from indented(wrapped(f"looked at {_shares(row, read)}", width - 2), 2)
    if crossing is not None:
        yield from indented(wrapped(f"at the source: {_shares(crossing, source)}", width - 2), 2)
    yield from indented(candidate_lines(tree, node, width - 2), 2)
    yield from indented(wrapped(f"why: {why(tree, node)}", width - 2), 2)


def candidate_lines(tree: SearchTree, node: Node, width: int) -> Iterator[str]:
    drawn = tree.settings.method == "sample"
    parent = None if node.parent is None else tree.nodes[node.parent]
    # Directly after the prompt, several samples have the same parent.
    candidates = [each for each in tree.children(parent) if not drawn or each.hypothesis == node.hypothesis]
    shown = sorted(candidates, key=lambda each: -each.log_probability)
    beams = tree.settings.method == "beam"
    head = ["", "token", "model", *(["drawn with", "from", "to"] if drawn else ["total"] if beams else [])]
    rows = [head]
    for each in shown:
        chosen = each.number == node.number
        numbers = [f"{math.exp(each.log_probability):.4f}"]
        if drawn:
            part = ["", ""] if each.draw is None else [f"{each.draw[1]:.4f}", f"{each.draw[2]:.4f}"]
            numbers += ["cut" if each.fate == "cut" else f"{each.share or 0:.4f}", *part]
        elif beams:
            numbers.append(f"{each.total:.3f}")
        rows.append(["▶" if chosen else "", label(word_of(tree, each), WORD), *numbers])
    rest = 1 - sum(math.exp(each.log_probability) for each in shown)
    others = [f"{max(rest, 0):.4f}"]
    if drawn:
        others += [f"{max(0.0, 1 - sum(each.share or 0 for each in shown)):.4f}", "", ""]
    elif beams:
        others.append("")
    rows.append(["", "all others", *others])
    yield from grid(rows, width, left=(1,))


def why(tree: SearchTree, node: Node) -> str:
    if node.draw is not None:
        chance, begin, end = node.draw
        return (
            f"{chance:.4f} was drawn; the cumulative probability of the tokens before it is {begin:.4f}, with it "
            f"{end:.4f}"
        )
    if tree.settings.method == "greedy":
        return "no token is likelier (argmax)"
    on = sum(each.fate == "kept" for each in tree.steps[node.step])
    if node.fate == "answer":
        return f"the answer ends here, and of all {len(tree.answers)} answers it scores highest: {node.score:.3f}"
    rank = _ordinal(node.rank)
    return f"on the way to the best answer: {FATES[node.fate]}, one of {on}, its total the {rank} of the step"


def word_of(tree: SearchTree, node: Node) -> str:
    return marked(tree.texts[node.token])


def _shares(row: Tensor, words: Sequence[str]) -> str:
    order = row.argsort(descending=True)[:NAMED].tolist()
    named = [f"{in_one_line(words[place])} {float(row[place]):.2f}" for place in order if place < len(words)]
    left = len(row) - len(named)
    others = f"; {left} others {max(0.0, 1 - float(row[order].sum())):.2f}" if left > 0 else ""
    return f"{', '.join(named)}{others}"


def _ordinal(number: int) -> str:
    return f"{number}{'th' if number % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
