"""The navigation: which page is in which section, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

SECTIONS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "start": ("Start", ("index", "install", "first-model", "vocabulary")),
    "learn": ("Learn", ("index",)),
    "do": (
        "Do",
        (
            *("index", "classify", "choose", "tag", "answer", "sentence-order"),
            *("translate", "language-model", "chat"),
            *("features", "search", "scikit-learn", "submission", "transfer"),
            *("models", "engines", "onnx", "serving"),
        ),
    ),
    "friends": ("Coming from", ("index", "trainer", "sentence-transformers", "spacy", "opennmt", "nanogpt")),
    "look": ("Look", ("index", "looking", "page", "gallery", "views")),
    "reference": (
        "Reference",
        (
            *("index", "python", "python-look", "python-parts", "options", "options-by-command"),
            *("recipe", "recipe-tasks", "recipes", "records", "scores", "decoding", "platforms", "stable", "changes"),
        ),
    ),
    "how": ("How it works", ("index", "architecture", "formulas", "tests", "adding-a-task", "contributing")),
    "measured": ("Measured", ("index", "results", "bench", "claims", "imprecise", "items")),
    "scale": ("Scale", ("index", "processes", "ray")),
    "security": ("Security", ("index",)),
    "decisions": ("Decisions", ("index",)),
}
"""By folder: the title of the section, and its pages in their order. Other pages of the folder follow by name."""


def ordered(section: str, pages: Iterable[str]) -> list[str]:
    """The pages of a section, by name without a suffix, in the order of the navigation."""
    _, first = SECTIONS[section]
    there = set(pages)
    rest = sorted(there - {*first}, reverse=section == "decisions")
    return [page for page in first if page in there] + rest
