"""What a template of strangers may do at most: steps, characters, the size of a number, and whether a call would make a
very long text of short ones.
"""

import operator
import re
from collections.abc import Mapping
from typing import Any

from jinja2.exceptions import SecurityError
from jinja2.utils import Namespace

# Steps of a template, characters that it writes and of one of its values, and seconds for all. A conversation of a
# thousand turns needs some ten thousand steps; a part of a list counts as so many characters.
MOST_STEPS, MOST_CHARACTERS, MOST_SECONDS, OF_A_PART = 300_000, 4_000_000, 5.0, 20
# Numbers in formats and arguments of filters, such as the width of a column, and bits of a whole number.
_MOST_DIGITS, MOST_NUMBER, MOST_BITS = 3, 10_000, 4096
WIDE = re.compile(rf"\d{{{_MOST_DIGITS + 1},}}|\*|\{{[^{{}}]*\{{")


class EndlessTemplateError(SecurityError):
    """A template that does more than any conversation needs."""


def size_of(value: Any) -> int:
    """The characters of a value, and those that its parts count as, each as often as it is reached; counted until there
    are more than is allowed.
    """
    if isinstance(value, str):
        return len(value)
    total, waiting = 0, [value]
    while waiting and total <= MOST_CHARACTERS:
        each = waiting.pop()
        total += OF_A_PART
        if isinstance(each, str):
            total += len(each)
        elif isinstance(each, Mapping):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple | set | frozenset):
            waiting += each
        elif isinstance(each, Namespace):
            waiting.append(each._Namespace__attrs)  # it hides all others
    return total


def is_small(operator_: str, left: Any, right: Any) -> bool:
    """Whether a product or a power can be computed: of whole numbers by their bits, of texts by their length."""
    if isinstance(left, int) and isinstance(right, int):
        bits = operator.mul(left.bit_length(), abs(right)) if operator_ == "**" else left.bit_length()
        return bits <= MOST_BITS
    sizes = [size_of(each) for each in (left, right) if isinstance(each, str | list | tuple)]
    times = max((each for each in (left, right) if isinstance(each, int)), default=1)
    return sum(sizes) * times <= MOST_CHARACTERS


def check_growth(name: str, of: list[Any], given: list[Any]) -> None:
    """Refuse what would make a very long text of short ones, before it is made; raises EndlessTemplateError."""
    text = of[0] if of else ""
    longest = max((size_of(each) for each in given if isinstance(each, str)), default=0)
    grown = 0
    if name == "replace" and given and isinstance(text, str):
        grown = text.count(given[0]) * longest if isinstance(given[0], str) else 0
    elif name == "join":
        lengths = sorted(len(each) for each in (text, *given) if isinstance(each, str | list | tuple | dict | set))
        grown = lengths[-1] * lengths[-2] if len(lengths) > 1 else 0
    elif name == "indent" and isinstance(text, str):
        width = max((each for each in given if type(each) is int), default=4)
        grown = (text.count("\n") + 1) * max(width, longest)
    elif name == "format" and isinstance(text, str) and WIDE.search(text):
        raise EndlessTemplateError(f"a wide column in {text[:40]!r}")
    if grown > MOST_CHARACTERS:
        raise EndlessTemplateError(f"a text of more than {MOST_CHARACTERS:,} characters by {name}")
