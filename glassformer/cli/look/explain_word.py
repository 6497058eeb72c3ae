"""The word that `glassformer explain --word` names, and what it looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING

from glassformer.base.errors import UnknownNameError
from glassformer.cli.terminal.screen import note

if TYPE_CHECKING:
    from glassformer.api.model import Model
    from glassformer.api.trace import Trace
    from glassformer.look.summaries.mix import Look


def place_of(trace: Trace, sentence: int, word: str) -> int:
    """The place of the word; raises UnknownNameError for a word or a sentence that is not there."""
    from glassformer.look.trace.cell import find_word

    texts = len(trace.words.inputs)
    if sentence >= texts:
        do = f"there {'is one text' if texts == 1 else f'are {texts} texts'}"
        raise UnknownNameError(f"--sentence counts from 0 to {texts - 1}", got=str(sentence), do=do)
    target = trace.words.sentence("decoder_inputs", sentence)
    if not target:
        return find_word(trace.words, word, option="--word", sentence=sentence)
    try:
        place = find_word(trace.words, word, option="--word", sentence=sentence)
    except UnknownNameError:
        place = find_word(trace.words, word, option="--word", side="decoder_inputs", sentence=sentence)
    source = trace.words.sentence("inputs", sentence)
    shown = (words[min(place, len(words) - 1)] for words in (source, target))
    tell("showing the rows of {} in the source and of {} in the target; --word selects others".format(*shown))
    return place


def looks_of(opened: Model, trace: Trace, sentence: int, place: int) -> list[Look]:
    """What each head looks at from a position, the clearest first."""
    from glassformer.look.summaries.mix import looks

    tokenizer = opened.tokenizer
    return looks(trace, word=place, sentence=sentence, special=set(tokenizer.special_ids) - {tokenizer.mask_id})


def tell(text: str) -> None:
    """A note, in lines that fit the screen."""
    from glassformer.base.lines import screen_width, wrapped

    for line in wrapped(text, screen_width()):
        note(line)
