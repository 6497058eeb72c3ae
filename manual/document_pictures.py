"""The pictures of the source documents, for docs/look/views.md: where each is, and on which page a test opens it.

The rows are `glassformer/page/pictures.toml`, which the page lists too: *Pictures of the documents*, at the left.
"""

from collections.abc import Mapping
from typing import Any

from experiments.page import table
from glassformer.page.tour import pictures

PAGES: Mapping[str, str] = {
    "slides": 'glassformer explain slides "She [MASK] [MASK] summer better"'
    ' "He loves to [MASK] healthy" "They go hiking quite [MASK]" --html slides.html',
    "en-fr": 'glassformer explain en-fr "I am a student." --html en-fr.html',
    "english": 'glassformer explain english "The animal didn\'t cross the [MASK] because it was too tired."'
    " --html english.html",
    "padded": 'glassformer explain english "She likes the [MASK]." "He loves to [MASK] every day of the summer."'
    " --html padded.html",
    "gradients": 'glassformer explain en-fr "I am a student." --gradients --html gradients.html',
    "help": 'glassformer explain english "Help Prince Mayuko Transfer Huge Inheritance" "The man needs help."'
    " --probe probe.json --index runs/passages --html help.html",
    "shuffled": 'glassformer shuffle english "This course is the best" --html shuffled.html',
    "spam": 'glassformer explain runs/spam "Help Prince Mayuko Transfer Huge Inheritance" --start english'
    " --html spam.html",
}
"""The examples that the links are opened on; in the page of any other run they lead to the same picture."""

TEXT = """## Pictures of the source documents

Every picture of the four documents that this project began with, and its link: open the page that the command writes
and append the link to its address. On the page of any other run the link leads to the same picture of that run, or to
the reason why it has none. `tests/page/test_documents.py` opens each. In the page itself the list is *Pictures of
the documents*, at the left. The rows are `glassformer/page/pictures.toml`. How `probe.json`, `runs/passages` and
`runs/spam` are made: [features](../do/features.md#on-a-page).
"""


def address(row: Mapping[str, Any]) -> str:
    """The part of the address that leads to a picture, the same in every page."""
    return f"#level=pictures&picture={row['key']}"


def document_pictures() -> str:
    """The whole section."""
    listing = pictures()
    commands = [f"- **{name}.html**: `{command}`" for name, command in PAGES.items()]
    parts = [TEXT, *commands, ""]
    for key, title in listing["documents"].items():
        rows = [
            [row["title"], row["where"], f"`{row['page']}.html{address(row)}`"]
            for row in listing["picture"]
            if row["document"] == key
        ]
        parts += [f"### {title}", "", table(["picture", "where", "link"], rows), ""]
    return "\n".join(parts)
