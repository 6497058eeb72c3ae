"""glassformer translate, generate or chat with --tree: how each text was searched for or drawn, on the screen or as
JSON.
"""

from collections.abc import Mapping
from typing import Any

from glassformer.base.errors import ConfigError
from glassformer.base.wrapping import in_one_line
from glassformer.cli.ask.job import Job
from glassformer.cli.terminal.readers import Text
from glassformer.cli.terminal.screen import note, record
from glassformer.tasks import VERBS

# What a tree and its page do not have, or have anyway.
_NOT_BESIDE = ("stream", "alignment", "paragraphs", "out", "rejects")


def check_tree(values: Mapping[str, Any]) -> None:
    mine = "--tree" if values.get("tree") else "--html"
    others = _NOT_BESIDE if mine == "--tree" else (*_NOT_BESIDE, "json")
    beside = [f"--{name}" for name in others if values.get(name)]
    beside += ["--html"] if mine == "--tree" and values.get("html") else []
    if beside:
        raise ConfigError(
            "--tree shows how each text was found and nothing else"
            if mine == "--tree"
            else "--html writes the page of one text and nothing else",
            got=f"{beside[0]} beside it",
            do=f"leave {mine} or {beside[0]} out",
        )


def show_trees(job: Job) -> None:
    from glassformer.base.lines import screen_width
    from glassformer.look.texts.search_tree import search_tree  # not at the top: --help must not import torch
    from glassformer.look.texts.tree import tree_lines

    number, handle = 0, job.out.handle
    for number, text in enumerate(job.texts, start=1):
        tree = search_tree(job.opened, given(text), job.writing, verb=job.verb)
        if job.json:
            record({**text.kept, **tree.to_dict()}, handle)
            continue
        if number > 1:
            handle.write("\n")
        for line in tree_lines(tree, screen_width()):
            handle.write(f"{in_one_line(line)}\n")
        handle.flush()
    if number and not job.json:
        draws = "explain MODEL TEXT" if VERBS[job.verb].writes == "translation" else f"{job.verb} MODEL TEXT"
        note(f"glassformer {draws} --html page.html draws it, with the numbers behind each word")


def given(text: Text) -> str | list[str]:
    """What a record asks to be written behind: its text, or the turns of a conversation."""
    value = text.values.get("turns", text.values.get("text"))
    return list(value) if isinstance(value, list | tuple) else str(value)
