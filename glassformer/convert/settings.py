"""Source settings are a table too, read in both directions: their key, our keyword, and where it stands in our tree.

Each key of a source `config.json` is used by one row, or left aside with a reason, or refused with one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from glassformer.base.errors import CheckpointError, ConfigError, did_you_mean
from glassformer.config import ModelConfig

Values = Mapping[str, Any]


class _Row:
    """A row that says nothing, unless it overrides this."""

    def read(self, values: Values) -> dict[str, Any]:
        return {}

    def write(self, config: ModelConfig) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class _OfOneKey(_Row):
    theirs: str

    @property
    def keys(self) -> tuple[str, ...]:
        return (self.theirs,)


@dataclass(frozen=True)
class Setting(_OfOneKey):
    """Their `theirs` is the keyword `ours`, found at `at` in our tree. `default` is theirs, for old files without it. A
    step of `at` that ends in `?` may be absent; then nothing is written. `words` pairs their words with ours; of
    several words for one of ours the first is written.
    """

    ours: str
    at: str
    default: Any
    words: tuple[tuple[str, str], ...] = ()

    def read(self, values: Values) -> dict[str, Any]:
        value = values.get(self.theirs, self.default)
        if self.words:
            known = dict(self.words)
            if value not in known:
                raise CheckpointError(
                    f"{self.theirs} must be one of {', '.join(known)}",
                    got=repr(value),
                    do=did_you_mean(str(value), known),
                )
            value = known[value]
        return {self.ours: value}

    def write(self, config: ModelConfig) -> dict[str, Any]:
        value = at(config, self.at)
        if value is None:
            return {}
        if self.words:
            word = next((theirs for theirs, ours in self.words if ours == value), None)
            if word is None:
                raise ConfigError(f"Hugging Face's {self.theirs} must have a word for it", got=str(value))
            value = word
        return {self.theirs: value}


@dataclass(frozen=True)
class Count(Setting):
    """Their number is the length of a tuple in our tree."""

    def write(self, config: ModelConfig) -> dict[str, Any]:
        return {self.theirs: len(at(config, self.at))}


@dataclass(frozen=True)
class Joint:
    """Several of their keys and several of our keywords say something together; each direction is a function."""

    keys: tuple[str, ...]
    read: Callable[[Values], dict[str, Any]]
    write: Callable[[ModelConfig], dict[str, Any]]


@dataclass(frozen=True)
class Only(_OfOneKey):
    """A setting that would change the numbers, of which we have one value. The first is reported, and not written."""

    allowed: tuple[Any, ...]
    because: str

    def read(self, values: Values) -> dict[str, Any]:
        """No keyword; raises CheckpointError for any other value."""
        if self.theirs in values and values[self.theirs] not in self.allowed:
            raise CheckpointError(
                f"{self.theirs} must be {self.allowed[0]!r}: {self.because}", got=repr(values[self.theirs])
            )
        return {}


@dataclass(frozen=True)
class Unused(_Row):
    """Keys that do not affect the model's numbers. `reported`: a report names them, unless they are kept elsewhere."""

    keys: tuple[str, ...]
    reason: str
    reported: bool = True


SettingRow = Setting | Joint | Only | Unused


def read_values(rows: Sequence[SettingRow], values: Values, *, where: str) -> tuple[dict[str, Any], dict[str, str]]:
    """Keywords for the family function, and why keys were left out; CheckpointError for unknown keys or values."""
    keywords: dict[str, Any] = {}
    aside: dict[str, str] = {}
    known: dict[str, SettingRow] = {}
    for row in rows:
        repeated = known.keys() & set(row.keys)
        assert not repeated, f"two rows use {repeated}"
        known |= dict.fromkeys(row.keys, row)
    for key in values:
        if key not in known:
            raise CheckpointError(
                f"each setting of {where} must be known",
                got=f"{key} = {values[key]!r}, which might change the numbers",
                do=did_you_mean(key, known) or "take it out of the file if it does not",
            )
        row = known[key]
        if isinstance(row, Unused) and row.reported:
            aside[key] = row.reason
    for row in rows:
        try:
            keywords |= row.read(values)
        except CheckpointError as error:
            raise CheckpointError(f"{where}: {error.wanted}", got=error.got, do=error.do) from None
        # A word for a number, a list for a word.
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
            said = {key: values[key] for key in row.keys if key in values}
            wanted = f"{where}: these settings must be numbers and words as usual"
            raise CheckpointError(wanted, got=str(said)) from None
    return keywords, aside


def write_values(rows: Sequence[SettingRow], config: ModelConfig) -> dict[str, Any]:
    """Their keys and values for our tree."""
    values: dict[str, Any] = {}
    for row in rows:
        values |= row.write(config)
    return values


def at(config: ModelConfig, path: str) -> Any:
    """The value at a dotted path, None after a step that may be absent; raises ConfigError after any other."""
    value: Any = config
    for step in path.split("."):
        name = step.removesuffix("?")
        try:
            value = value[int(name)] if name.isdigit() else getattr(value, name)
        except (AttributeError, IndexError):
            raise ConfigError(
                f"{config.family} needs {path} to be written for Hugging Face", got="a model without it"
            ) from None
        if value is None and step.endswith("?"):
            return None
    return value


def differences(one: Any, two: Any, path: str = "") -> Iterator[str]:
    """Where two dumped trees differ, each as `path: this ≠ that`."""
    if isinstance(one, list | tuple) and isinstance(two, list | tuple) and len(one) == len(two):
        one, two = dict(enumerate(one)), dict(enumerate(two))
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        for key in one.keys() | two.keys():
            yield from differences(one.get(key), two.get(key), f"{path}.{key}")
    elif one != two:
        yield f"{path.lstrip('.')}: {one!r} ≠ {two!r}"
