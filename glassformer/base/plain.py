"""Checks that values from a file or a command line have only types that settings have, before they are used."""

import math
import operator
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from glassformer.base.errors import ConfigError

# Levels of nested groups: the deepest setting of a model is at the 8th.
DEEPEST = 40
REQUEST = "the request"
"""Where settings come from that a program sends: its sentences count texts from 1. Names of weights count from 0."""
# The whole numbers that torch, TOML and every file format can hold.
SMALLEST, LARGEST = -(2**63), 2**63 - 1


def counted(number: Any, what: str) -> int:
    """A whole number from 1 on, as an int; raises ConfigError, with `what` it counts, for anything else."""
    try:
        if isinstance(number, bool) or (found := operator.index(number)) < 1:
            raise TypeError
    except TypeError:
        raise ConfigError(f"{what} must be a whole number, at least 1", got=repr(number)[:60]) from None
    return found


def plain(value: Any) -> Any:
    """A number of NumPy as Python's own, and a path as a string; any other value as it is."""
    if isinstance(value, PurePath):
        return str(value)
    return value.item() if hasattr(value, "item") and getattr(value, "ndim", None) == 0 else value


def is_missing(value: object) -> bool:
    """Whether a value is a missing one in a table: None, NaN, pandas' NA and NaT."""
    nan = isinstance(value, float) and math.isnan(value)
    return value is None or nan or type(value).__name__ in ("NAType", "NaTType")


def refuse_strange(values: object, where: str) -> None:
    """Raise ConfigError, with the path of the setting, for a value other than a number, string, list or group, a whole
    number of more than 64 bits, a string that is not UTF-8, and groups that are nested too deep.
    """
    waiting: list[tuple[object, tuple[str | int, ...]]] = [(values, ())]
    while waiting:
        value, path = waiting.pop()
        value = plain(value)
        if len(path) > DEEPEST:
            first = _shown(path[: DEEPEST // 10])
            raise ConfigError(f"{where} must hold at most {DEEPEST} nested groups or lists", got=f"{first} ...")
        if isinstance(value, dict):
            for key in value:
                _check_string(str(key), where, (*path, repr(str(key))))
            waiting += [(inner, (*path, str(key))) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(inner, (*path, number)) for number, inner in enumerate(value)]
        else:
            if isinstance(value, str):
                _check_string(value, where, path)
            elif isinstance(value, int):
                if not SMALLEST <= value <= LARGEST:
                    raise ConfigError(
                        f"{_setting_path(where, path)}: a whole number from {SMALLEST:,} to {LARGEST:,} is needed",
                        got=f"{value:,}" if value.bit_length() < 200 else f"one of {value.bit_length():,} bits",
                    )
            elif not (value is None or isinstance(value, float)):
                raise ConfigError(
                    f"{_setting_path(where, path)}: a number, a string, a list or a group is needed",
                    got=f"{str(value)[:60]} ({type(value).__name__})",
                )


def _check_string(word: str, where: str, path: tuple[str | int, ...]) -> None:
    try:
        word.encode()
    except UnicodeEncodeError as error:
        got = ascii(word[max(error.start - 20, 0) : error.end + 20])
        raise ConfigError(f"{_setting_path(where, path)}: a string must be UTF-8", got=got) from None


def _setting_path(where: str, path: tuple[str | int, ...]) -> str:
    shown = numbered(path) if where == REQUEST else _shown(path)
    return f"{where}: {shown}" if path else where


def numbered(path: Sequence[str | int]) -> str:
    """The path of a value in a request, whose records are counted from 1, as in messages about files."""
    return "".join(f" number {step + 1}" if isinstance(step, int) else f".{step}" for step in path)[1:]


def _shown(path: tuple[str | int, ...]) -> str:
    return ".".join(str(step) if str(step).isprintable() else ascii(step) for step in path)
