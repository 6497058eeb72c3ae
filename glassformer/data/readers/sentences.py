"""Where sentences begin: precise enough to split a document for next-sentence pairs."""

import re

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
