"""Documents of two to four short sentences in a row, from books, speeches and dialogues, for `next-sentence`."""

import random
import re
from collections.abc import Iterator

from experiments.results import data_directory
from glassformer.data.readers.lines import read_lines

# Words of a sentence, and sentences of a document.
LEAST, MOST, TOGETHER = 3, 14, 4
_SENTENCE = re.compile(r".+?[.?!][\"”’]*(?=\s|$)")


def short_texts() -> str:
    """All of them, in a fixed random order, a sentence a line."""
    documents = [document for run in _runs() for document in _cut(run)]
    random.Random(0).shuffle(documents)
    return "\n\n".join("\n".join(document) for document in documents) + "\n"


def _runs() -> Iterator[list[str]]:
    """Short sentences that follow each other, in a paragraph, over paragraphs, or in turns of a dialogue."""
    folder = data_directory()
    for pattern in ("text_books/*.txt", "text_state_union/*.txt", "self_dialogue/*.txt*"):
        for file in sorted(folder.glob(pattern)):
            run: list[str] = []
            for line in read_lines(file):
                for sentence in _SENTENCE.findall(line.text) or [""]:
                    if LEAST <= len(sentence.split()) <= MOST:
                        run.append(sentence.strip())
                    else:
                        yield run
                        run = []
            yield run


def _cut(run: list[str]) -> Iterator[list[str]]:
    parts = (run[at : at + TOGETHER] for at in range(0, len(run), TOGETHER))
    return (part for part in parts if len(part) > 1)
