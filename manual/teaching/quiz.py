"""docs/learn/quiz.md: the questions of the page's quiz, with their answers folded."""

from __future__ import annotations

from typing import NamedTuple

from glassformer.page.tour import quiz
from manual.book import BOOK, live
from manual.stage import title

LETTERS = "abcd"

PAGE = """# Quiz: ten questions

Take the quiz before you open the book or the page, and again after it. Each question has one right choice. Write down
your letters first, then open the answers. Each answer links to the chapter that explains it, and to a view that shows
it.

Teachers: `python -m manual worksheets FOLDER` writes the quiz as a sheet to print. The [lesson plans](teaching.md) say
when to use it. The live page has the same questions, at `#level=quiz`. This page is written by
`python -m manual tables` from `glassformer/page/quiz.toml`.
"""


class Question(NamedTuple):
    """A question, its choices, the letter of the right one and why it is right. `view` is an address on the live page
    of the chapter with the name `chapter`, and on a page of the bundled model `model`.
    """

    question: str
    choices: tuple[str, ...]
    right: str
    because: str
    chapter: str
    view: str
    model: str

    @property
    def lettered(self) -> tuple[tuple[str, str], ...]:
        """The choices, each with its letter."""
        return tuple(zip(LETTERS, self.choices, strict=True))


def questions() -> list[Question]:
    """All questions, in their order."""
    return [Question(**{**each, "choices": tuple(each["choices"])}) for each in quiz()["question"]]


def chapter_title(chapter: str) -> str:
    """What a chapter is called: `3. Attention`."""
    return title((BOOK / f"{chapter}.md").read_text(encoding="utf-8")).partition(":")[0]


def page() -> str:
    """The page."""
    parts, pages = [PAGE], live()
    for number, each in enumerate(questions(), start=1):
        choices = [f"- **{letter}** {text}" for letter, text in each.lettered]
        chapter = f"[{chapter_title(each.chapter)}]({each.chapter}.md)"
        view = f"[see it on the page](live/{pages[each.chapter]['file']}#{each.view})"
        parts += [
            f"## Question {number}\n\n**{each.question}**\n",
            "\n".join(choices) + "\n",
            '<details markdown="1">\n<summary>Answer</summary>\n',
            f"**{each.right}.** {each.because}\n\nChapter {chapter}; {view}.\n\n</details>\n",
        ]
    return "\n".join(parts)
