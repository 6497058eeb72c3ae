"""Sentences of a text: where they begin, and paragraphs cut into them and joined again."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from glassformer.base.errors import ShapeError

# A run of signs is matched only from its first sign (the lookbehind) and without backtracking (the possessive ++): the
# time grows with the length of the text, not with the square of a run.
_START = re.compile(
    r"""
    [。！？]+["'”’»)\]」』]*\s*   # the end of a sentence where no blank follows it,
    |
    \n\s*                        # or a new line,
    |
    (?<![.!?…])(?P<mark>[.!?…]++)  # or the end of a sentence,
    ["'”’“‘»)\]]*+               #   its closing quotes,
    (?P<blank>\s++)              #   and a blank,
    (?=["'“‘„‚«(\[]*+(?P<next>\w))  #   before a capital or a number
    """,
    re.VERBOSE,
)

# A full stop after a title or a single letter does not end a sentence.
_NO_END = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|St|Prof|Mt|Messrs|vs|No|(?P<initial>[^\W\d_]))$")


def sentence_starts(text: str) -> list[int]:
    """Positions of the characters where sentences begin, in order; the first is that of the first non-space character.
    A sentence begins on a new line, after a full stop, question or exclamation mark (and closing quotes) that a capital
    of any script or a number follows, and after 。！？ whatever follows.
    """
    first = len(text) - len(text.lstrip())
    starts = [first] if first < len(text) else []
    starts += [found.end() for found in _START.finditer(text, first) if found.end() < len(text) and _begins(found)]
    return starts


def _begins(found: re.Match[str]) -> bool:
    if found["mark"] is None:
        return True
    if not (found["next"].isupper() or found["next"].isdecimal()):
        return "\n" in found["blank"]
    return found["mark"] != "." or not _abbreviated(found.string, found.start())


def _abbreviated(text: str, stop: int) -> bool:
    last = _NO_END.search(text, max(0, stop - 8), stop)
    return last is not None and (last["initial"] is None or last["initial"].isupper())


# Ends that `sentence_starts`, made for documents of English, does not see: a closing « » with its blank, a dash or an
# opening sign with a blank before the next sentence, and marks and letters of writings without capitals. As there, a
# run of signs is matched once and without backtracking.
_MORE = re.compile(
    r"""
    (?<![.!?…؟۔।॥])[.!?…؟۔।॥]++     # the end of a sentence,
    ["'”’“‘»)\]]*+(?:[ \u00a0\u202f][»”])?+  # its closing quotes,
    \s++                             # a blank,
    (?=(?:[—–-]\s++)?+               # a dash of speech,
       ["'“‘„‚«(\[¿¡]*+\s?+          # opening quotes,
       (?P<next>\w))                 # and a letter or a number
    """,
    re.VERBOSE,
)
# The word before a full stop, with the full stops and hyphens inside: "e.g", "J.-C". No longer one is an abbreviation.
_LAST_WORD = re.compile(r"(?<![\w.])(?P<word>\w[\w.’'-]{0,9})\.$|(?P<degree>\b[Nn][°º])\.$")
_LONGEST_WORD = 12
# Abbreviations that something always follows: titles, which differ from words such as "me" by their capital, and
# others in any letters; English, French, German, Spanish.
_TITLES = """
    Mr Mrs Ms Dr Prof St Ste Mt Messrs Gen Col Capt Lt Sgt Rev Hon Gov Sen Rep
    M MM Mme Mmes Mlle Mlles Me Mgr Hr Sr Sra Srta Dña
"""
_GOES_ON = "av vs cf e.g i.e viz p.ex env c.-à-d z.b d.h bzw u.a sog"
# Abbreviations that a number follows; before a capital they may end a sentence.
_BEFORE_NUMBER = """
    no nos nr p pp fig figs vol vols chap ch art sec sect eq eqs tab ex al
    jan feb mar apr jun jul aug sep sept oct nov dec janv févr juil déc
"""
_TITLE_WORDS, _GOES_ON_WORDS, _NUMBER_WORDS = (
    frozenset(words.split()) for words in (_TITLES, _GOES_ON, _BEFORE_NUMBER)
)
# German writes a full stop after an ordinal number: "am 3. Mai", "im 19. Jahrhundert".
_AFTER_ORDINAL = re.compile(
    r"(Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert)\w{0,2}\b"
)
# "1." and "a." at the beginning of a line number what follows.
_NUMBERED = re.compile(r"(?:^|\n)[ \t]*(?:\d{1,3}|[A-Za-z])\.$")

# Where a sentence that is too long is cut, the best first: after a mark between clauses, after a comma, before a blank.
_CUTS = (re.compile(r"[;:—–…)\]»](?=\s)|[；：。！？]"), re.compile(r",(?=\s)|[，、،]"), re.compile(r"(?=\s)(?<=\S)"))
_NO_BLANK = re.compile(r"\S")
_JOINERS = "\u200d\ufe0e\ufe0f"


class Sentence(NamedTuple):
    """The characters [start, end) of a sentence, or of one of the `parts` of a sentence that is too long."""

    start: int
    end: int
    part: int = 1
    parts: int = 1


def split_sentences(text: str, *, length: Callable[[str], int] | None = None, most: int = 0) -> list[Sentence]:
    """The sentences of a text, in order; all its other characters are blanks. A line end always ends a sentence, so
    that lines stay lines. With `length`, which gives how many tokens a text has, a sentence of more than `most` is cut
    into parts: after a mark between clauses, else after a comma, else before a blank, else between two letters. A
    single letter is never cut, whatever its tokens.
    """
    starts = _starts(text)
    found = list[Sentence]()
    for start, end in pairwise([*starts, len(text)]):
        end = start + len(text[start:end].rstrip())
        parts = [(start, end)] if length is None else list(_parts(text, start, end, length, most))
        found += [Sentence(*span, number, len(parts)) for number, span in enumerate(parts, 1)]
    return found


def join_sentences(text: str, sentences: Sequence[Sentence], translations: Sequence[str]) -> str:
    """The text with its sentences replaced by their translations; raises ShapeError for another number of these."""
    if len(sentences) != len(translations):
        raise ShapeError(f"{len(sentences):,} sentences need as many translations", got=f"{len(translations):,}")
    parts, at = list[str](), 0
    for sentence, translation in zip(sentences, translations, strict=True):
        parts += [text[at : sentence.start], translation]
        at = sentence.end
    return "".join([*parts, text[at:]])


def _starts(text: str) -> list[int]:
    more = (found.end() for found in _MORE.finditer(text) if not _small(found["next"]))
    places = sorted({*sentence_starts(text), *more})
    return [place for number, place in enumerate(places) if not number or not _goes_on(text, place)]


def _small(letter: str) -> bool:
    """Whether a letter is a small one; Georgian's, which Unicode calls so, are not, as sentences begin with them."""
    return letter.islower() and letter.title() != letter


def _goes_on(text: str, start: int) -> bool:
    """Whether a sentence goes on at this place, as the full stop before it is that of an abbreviation or a number."""
    low = max(0, start - 4 * _LONGEST_WORD)
    before = text[low:start].rstrip()
    if "\n" in text[low + len(before) : start]:
        return False
    near = max(0, len(before) - _LONGEST_WORD)
    if _NUMBERED.search(before, near):
        return True
    last = _LAST_WORD.search(before, near)
    if last is None:
        return False
    if last["degree"]:
        return True
    word = last["word"].lower()
    number = text[start].isdecimal()
    initial = len(word) == 1 or word[-2] in ".-"
    return (
        last["word"] in _TITLE_WORDS
        or (len(word) < 3 and word.isdecimal() and _AFTER_ORDINAL.match(text, start) is not None)
        or word in _GOES_ON_WORDS
        or (number and word in _NUMBER_WORDS)
        or (initial and last["word"][-1].isupper())
    )


def _parts(text: str, start: int, end: int, length: Callable[[str], int], most: int) -> Iterator[tuple[int, int]]:
    """The parts of a sentence, each of at most `most` tokens and without blanks around it."""
    size = max(1, most)
    while start < end:
        reach = _reach(text, start, end, size, length, most)
        cut = reach
        while cut < end:
            cut = _cut(text, start, reach)
            if cut - start <= 1 or length(text[start:cut]) <= most:
                break
            reach = (start + reach) // 2  # rarely the tokens of a shorter text are more
        yield start, start + len(text[start:cut].rstrip())
        size = cut - start
        following = _NO_BLANK.search(text, cut, end)
        start = end if following is None else following.start()


def _reach(text: str, start: int, end: int, size: int, length: Callable[[str], int], most: int) -> int:
    """The end of the longest text from `start` with at most `most` tokens; looked for from `size` characters on."""
    fits, over = start, start + size
    while over < end and length(text[start:over]) <= most:
        fits, over = over, start + 2 * (over - start)
    if over >= end and length(text[start:end]) <= most:
        return end
    over = min(over, end)
    while over - fits > 1:
        middle = (fits + over) // 2
        if length(text[start:middle]) <= most:
            fits = middle
        else:
            over = middle
    return max(fits, start + 1)


def _cut(text: str, start: int, reach: int) -> int:
    """Where to cut the text from `start` on, at `reach` or before: after its first third, else anywhere."""
    for low in (start + (reach - start) // 3, start):
        for pattern in _CUTS:
            window = pattern.finditer(text, low, min(len(text), reach + 1))  # a mark counts only before a blank
            places = [found.end() for found in window]
            if places := [place for place in places if start < place <= reach]:
                return places[-1]
    cut = reach
    while cut > start + 1 and (unicodedata.combining(text[cut]) or text[cut] in _JOINERS or text[cut - 1] == "\u200d"):
        cut -= 1  # never between a letter and its accent
    return cut
