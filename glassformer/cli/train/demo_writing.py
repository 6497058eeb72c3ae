"""What the demo shows of decoders: a story that is continued, and one reply, if the package has models for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.base.wrapping import printable
from glassformer.bundled.travelling import travelling

if TYPE_CHECKING:
    from rich.console import Console

PROMPT = "As Aliens entered our planet"
ASKED, REPLY = "Hi how are you", "I am fine"
"""Those of the guide, whose reply is expected."""
TOKENS, LOOKED = 60, 2
"""The tokens that are written, and the steps that are shown."""
MAKES = {
    "writer": "glassformer train language-model BOOK.txt --out writer",
    "chat": "glassformer train chat DIALOGUES.jsonl --out chat",
}


def show_story(console: Console) -> bool:
    """Continue the guide's beginning, sampled with a fixed seed, and show the first steps; False without a writer."""
    if not _there("writer", console):
        return False
    from glassformer.api.load import load
    from glassformer.cli.look.written_lines import step_lines
    from glassformer.look.texts.search_tree import trace_of
    from glassformer.look.texts.written import Looks, path_of, stepwise

    model = load("writer")
    tree = model.search_tree(PROMPT, max_tokens=TOKENS, seed=0, attention=True)
    trace = trace_of(model, tree)
    console.print(printable(f"{PROMPT}{tree.answer}"), soft_wrap=not console.is_terminal, highlight=False, markup=False)
    looks, read = Looks(tree), trace.words.sentence("inputs", 0)
    console.print(f"\nits first steps ({looks.told}):")
    for number, node in enumerate(path_of(tree)[:LOOKED], start=1):
        for line in step_lines(tree, looks, node, number, read, (), console.width):
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    console.print(str(stepwise(tree, trace, fast=model.fast)), soft_wrap=not console.is_terminal)
    return True


def show_reply(console: Console) -> str | None:
    """The reply to the guide's question, the likeliest word each time; None without a model that chats."""
    if not _there("chat", console):
        return None
    from glassformer.api.load import load

    found = load("chat").chat(ASKED, beams=1).reply
    console.print(printable(f"you: {ASKED}\nmodel: {found}"), highlight=False, markup=False)
    return found


def commands() -> tuple[str, ...]:
    tries = {"writer": f'glassformer generate writer "{PROMPT}" --html story.html', "chat": "glassformer chat chat"}
    return tuple(command for name, command in tries.items() if name in travelling())


def _there(name: str, console: Console) -> bool:
    """Whether the package has this model; where it has not, that is said."""
    if name in travelling():
        return True
    console.print(
        f"The model {name} is not in this package. To train one: {MAKES[name]}",
        soft_wrap=not console.is_terminal,
        highlight=False,
    )
    return False
