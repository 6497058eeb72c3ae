"""A group of settings: frozen, strict, from TOML and JSON and back.

An unknown key is refused with the nearest known name. Every other error is one sentence too.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, ValidationError
from pydantic_core import CoreSchema

from glassformer.base.errors import ConfigError, did_you_mean
from glassformer.base.paths import check_path, refuse_endless
from glassformer.base.plain import DEEPEST, REQUEST, numbered, plain, refuse_strange

# What torch, numpy and TOML all take.
Seed = Annotated[int, Field(ge=0, lt=2**63)]
# What a validator finds other names of settings by, in its context.
CALLED = "called"
# Far more than any training uses, but few enough that the memory they need can be computed before training begins.
MOST_TOKENS, MOST_ROWS, MOST_WORDS = 1_000_000, 1_000_000, 10_000_000


class Settings(BaseModel):
    """A frozen group of settings; equal when all its values are equal."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, protected_namespaces=())


class PublicSettings(Settings):
    """Settings that users make themselves: invalid ones are refused as in a recipe, in one sentence."""

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise _readable(error, type(self), type(self).__name__, {}) from None

    # By this pydantic knows that it may read the settings from JSON without calling this, as it does without it.
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]


@dataclass(frozen=True)
class OneOf:
    """Says of a value that is of no type of a union what is `wanted`: pydantic would name the first type alone."""

    wanted: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        more = {"custom_error_type": "one_of", "custom_error_message": self.wanted}
        return {**handler(source), **more}  # keys of a union


Kind = TypeVar("Kind", bound=Settings)

# Dotted keys `a.b.c ...`: tomllib needs time and memory that grow with the square of the number of parts.
_STEP = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_KEY = re.compile(rf"(?<![\w-]){_STEP}(?:[ \t]*+\.[ \t]*+{_STEP}){{{DEEPEST}}}")


def read_settings(
    kind: type[Kind],
    values: Mapping[str, Any],
    *,
    where: str = "settings",
    called: Mapping[str, str] = MappingProxyType({}),
) -> Kind:
    """Check a mapping against a group of settings; raises ConfigError. `called`: names of options that were typed."""
    refuse_strange(values, where)
    try:
        return kind.model_validate_json(json.dumps(values, default=plain), context={CALLED: called})
    except ValidationError as error:
        raise _readable(error, kind, where, called) from None


def read_toml(path: str | Path) -> dict[str, Any]:
    """The tables of a TOML file; raises ConfigError with the line that cannot be read."""
    check_path(path, ConfigError)
    refuse_endless(path, ConfigError)
    path = Path(path)
    try:
        return parse_toml(path.read_bytes().decode("utf-8-sig"))  # editors on Windows write a byte order mark first
    except FileNotFoundError:
        raise ConfigError(f"a recipe is needed at {path}", got="no such file") from None
    except OSError as error:
        raise ConfigError(f"{path} must be a recipe (a TOML file)", got=error.strerror or str(error)) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} must be UTF-8 text", got=f"byte {error.start} is not") from None
    except ValueError as error:
        raise ConfigError(f"{path} must be TOML", got=str(error)) from None


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; raises ValueError for invalid TOML, too deep nesting and too many digits."""
    if _LONG_KEY.search(text):
        raise ValueError(f"a key of more than {DEEPEST} parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("brackets nested too deep to read") from None


def toml_of(settings: Settings) -> str:
    """Settings as TOML; what is None is left out, and read back as the default None."""
    import tomli_w

    return tomli_w.dumps(settings.model_dump(mode="json", exclude_none=True))


def _readable(error: ValidationError, kind: type[Settings], where: str, called: Mapping[str, str]) -> ConfigError:
    first = error.errors()[0]
    path = [str(step) for step in first["loc"]]
    spoken = ".".join(path)
    if where == REQUEST:
        spoken = numbered(first["loc"])
    place = called[path[0]] if path and path[0] in called else f"{where}: {spoken}" if path else where
    if first["type"] == "extra_forbidden":
        hint = did_you_mean(path[-1], _known_keys(kind, path[:-1]))
        return ConfigError(f"{where} has no setting {spoken!r}", do=hint)
    if first["type"] == "missing":
        return ConfigError(f"{place} is needed", got="nothing")
    if first["type"] == "too_short" and first["ctx"]["min_length"] == 1:
        return ConfigError(f"{place} must hold at least one", got="none")
    message = str(first["msg"]).removeprefix("Value error, ")
    given = first.get("input")
    shown = "" if isinstance(given, dict | list) else repr(given)
    return ConfigError(f"{place}: {message}", got=shown)


def _known_keys(kind: type[Settings], path: list[str]) -> list[str]:
    """Names of the settings at a path inside the tree, as far as the path leads to one group."""
    group: Any = kind
    for step in path:
        if not (isinstance(group, type) and issubclass(group, Settings)):
            return []
        if step in group.model_fields:
            group = _group_in(group.model_fields[step].annotation)
    return list(group.model_fields) if isinstance(group, type) and issubclass(group, Settings) else []


def _group_in(annotation: Any) -> Any:
    """The Settings class inside `X`, `X | None` or `tuple[X, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return annotation
    for inner in getattr(annotation, "__args__", ()):
        found = _group_in(inner)
        if found is not None:
            return found
    return None
