"""Values that came from a file or a command line: only what settings are made of, before anything is done with them."""

from __future__ import annotations

from typing import Any

from glassformer.errors import ConfigError

# Groups within groups: the deepest setting of a model stands at the 8th.
DEEPEST = 40
# What torch, TOML and every file format take for a whole number.
SMALLEST, LARGEST = -(2**63), 2**63 - 1


def refuse_strange(values: object, where: str) -> None:
    """Raise ConfigError with the place of a value that is no number, word, list or group, of a whole number beyond 64
    bits, of a word that is no UTF-8, and of groups within groups that are too deep for those who read them next.
    """
    waiting: list[tuple[object, tuple[str | int, ...]]] = [(values, ())]
    while waiting:
        value, path = waiting.pop()
        if len(path) > DEEPEST:
            first = _shown(path[: DEEPEST // 10])
            raise ConfigError(f"{where} must hold at most {DEEPEST} groups or lists in each other", got=f"{first} ...")
        if isinstance(value, dict):
            for key in value:
                _check_word(str(key), where, (*path, repr(str(key))))
            waiting += [(inner, (*path, str(key))) for key, inner in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(inner, (*path, number)) for number, inner in enumerate(value)]
        else:
            _check_one(value, where, path)


def _check_one(value: Any, where: str, path: tuple[str | int, ...]) -> None:
    if isinstance(value, str):
        _check_word(value, where, path)
    elif isinstance(value, int):
        if not SMALLEST <= value <= LARGEST:
            raise ConfigError(
                f"{_place(where, path)}: a whole number of at most 64 bits is needed",
                got=f"one of {value.bit_length():,} bits",
            )
    elif not (value is None or isinstance(value, float)):
        raise ConfigError(
            f"{_place(where, path)}: a number, a word, a list or a group is needed",
            got=f"{value} ({type(value).__name__})",
        )


def _check_word(word: str, where: str, path: tuple[str | int, ...]) -> None:
    try:
        word.encode()
    except UnicodeEncodeError as error:
        got = ascii(word[max(error.start - 20, 0) : error.end + 20])
        raise ConfigError(f"{_place(where, path)}: words must be UTF-8", got=got) from None


def _place(where: str, path: tuple[str | int, ...]) -> str:
    return f"{where}: {_shown(path)}" if path else where


def _shown(path: tuple[str | int, ...]) -> str:
    return ".".join(map(str, path))
