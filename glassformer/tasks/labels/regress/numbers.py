"""Numbers in tables, as spreadsheets of several countries write them: 1367.48, 1,367.48, 1.367,48, 1 367,48."""

import decimal
import math
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from glassformer.base.errors import DataError
from glassformer.tasks.rows import located

Decimal = Literal[".", ","]
# A number with a decimal comma, its thousands with points; one with commas between its thousands.
_COMMA = re.compile(r"[-+]?(([1-9]\d{0,2}(\.\d{3})+|\d+)(,\d+)?|,\d+)(e[-+]?\d+)?", re.ASCII | re.IGNORECASE)
_GROUPS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", re.ASCII)
# What may separate thousands where it is no mark of decimals: spaces of three widths, apostrophes.
_SPACES = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'\u2019](?=\d{3}(?!\d))")
# So many numbers that may have thousands, next to whole numbers, are no accident. Others, which have decimals for sure,
# are accidents up to these shares: of all with the mark (one may be), and of those that may have thousands.
_MANY, _RARE, _FEW = 30, 0.01, 0.1


def number_of(value: object, where: str) -> float:
    """A finite number, also as text with a decimal point; raises DataError for anything else."""
    with suppress(ValueError, OverflowError):
        if isinstance(value, str | int | float | decimal.Decimal) and not isinstance(value, bool):
            number = float(value)
            if math.isfinite(number) and "_" not in str(value):
                return number
    raise DataError(
        located(where, "a number is needed"),
        got=repr(value)[:60],
        do="check the column (--label-column), and what separates decimals (--decimal)",
    )


def parsed(text: str, decimal: Decimal) -> float | None:
    """The number of a cell whose decimals come after this mark, and whose thousands the other mark may separate; None
    for any other text.
    """
    text = _plain(text)
    if decimal == "," and ("," in text or "." in text):
        text = text.replace(".", "").replace(",", ".") if _COMMA.fullmatch(text) else ""
    elif _GROUPS.fullmatch(text):
        text = text.replace(",", "")
    with suppress(ValueError):
        return None if "_" in text else float(text)
    return None


def _plain(text: str) -> str:
    """Without spaces and apostrophes between thousands, with the minus sign of keyboards."""
    return _SPACES.sub("", text.strip()).replace("\N{MINUS SIGN}", "-")


def decimal_of(cells: Sequence[tuple[str, str]]) -> Decimal:
    """What separates the decimals of a column, of whose cells places and texts are given: the mark that more of them
    need. Raises DataError where that cannot be known: 1.600 next to 812 is 1600 in German, and 1,600 is 1600 in English
    and 1.6 in German.
    """
    texts = [(where, _plain(text)) for where, text in cells]
    wholes = [text for _, text in texts if text.lstrip("+-").isdecimal()]
    need_comma = sum(
        bool(_COMMA.fullmatch(text)) and (text.count(".") > 1 or ("," in text and not _GROUPS.fullmatch(text)))
        for _, text in texts
    )
    need_point = sum(
        parsed(text, ".") is not None and (text.count(",") > 1 or ("." in text and not _COMMA.fullmatch(text)))
        for _, text in texts
    )
    decimal: Decimal = "," if need_comma > need_point else "."
    # Those of which the mark may be one of thousands, and all that have it.
    doubtful = [each for each in texts if decimal in each[1] and _read_otherwise(each[1], decimal)]
    marked = sum(decimal in text for _, text in texts)
    few = marked - len(doubtful) <= min(max(1, _RARE * marked), _FEW * len(doubtful))
    if doubtful and few and _are_thousands([text for _, text in doubtful], wholes):
        raise _unclear(*doubtful[0], len(doubtful))
    commas = [each for each in texts if _GROUPS.fullmatch(each[1])] if decimal == "." and not need_point else []
    if commas and not _are_thousands([text for _, text in commas], wholes, zeros=False):
        raise _unclear(*commas[0], len(commas))
    return decimal


def _read_otherwise(text: str, decimal: Decimal) -> bool:
    """Whether a number with this mark alone can be read with the other one as that of decimals."""
    return bool((_GROUPS if decimal == "," else _COMMA).fullmatch(text)) and ("." in text) != ("," in text)


def _are_thousands(texts: Sequence[str], wholes: Sequence[str], *, zeros: bool = True) -> bool:
    """Whether whole numbers next to numbers of three digits after a mark show that the mark is no decimal one: a
    program that leaves out zeros writes 1.6 and not 1.600, one that does not writes 812.000. Without `zeros` a zero at
    the end of a single number does not count: people write 1,250 next to 3.
    """
    zeros = zeros and any(text.endswith("0") for text in texts)
    if not wholes or (len(texts) < 2 and not texts[0].endswith("0")):
        return False
    hundreds = any(len(text.lstrip("+-")) == 3 for text in wholes)
    return hundreds or len(texts) >= _MANY or zeros


def _unclear(where: str, text: str, count: int) -> DataError:
    whole, mark = re.sub("[.,]", "", text), "," if "," in text else "."
    other = "." if mark == "," else ","
    return DataError(
        located(where, "it must be clear whether a mark separates decimals or thousands"),
        got=f"{text} ({count:,} like it)",
        do=f"set data.decimal (--decimal) to '{other}' if it is {whole}, to '{mark}' if it is {text.replace(',', '.')}",
    )
