"""Which packages are installed, and which are missing or too old: read from metadata, without importing any of them."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from glassformer.base.errors import MissingExtraError, PackageError

# The first torch with torch.optim.Muon, as in pyproject.toml: here so that no command reads metadata for it (50 ms).
OLDEST_TORCH = "2.9"
# Extras for people who work on glassformer itself.
OF_DEVELOPERS = ("test", "dev", "bench", "docs", "release")

_REQUIREMENT = re.compile(r"([\w.-]+)(?:\[[^\]]*\])?\s*([^;]*)(?:;.*extra == ['\"]([\w-]+)['\"])?")


@dataclass(frozen=True)
class Requirement:
    """A package that glassformer needs: `versions` as in pyproject.toml (`>=2.6`), `extra` is "" if always."""

    name: str
    versions: str
    extra: str = ""

    @property
    def installed(self) -> str | None:
        """The installed version; None if there is none."""
        from importlib import metadata  # not at the top: it takes as long as the rest of a --help

        try:
            return metadata.version(self.name)
        except metadata.PackageNotFoundError:
            return None

    @property
    def problem(self) -> PackageError | None:
        """What is wrong with the installed version, with the command that corrects it; None if nothing is."""
        found = self.installed
        if found is None and self.extra:
            return MissingExtraError(self.name, extra=self.extra)
        if found is None or not satisfies(found, self.versions):
            return PackageError(self.name, needs=self.versions, got=found)
        return None


@cache
def requirements() -> tuple[Requirement, ...]:
    """What the installed glassformer needs; empty if only its files are there."""
    from importlib import metadata

    try:
        lines = metadata.requires("glassformer") or []
    except metadata.PackageNotFoundError:
        return ()
    found = (_REQUIREMENT.match(line) for line in lines)
    each = (Requirement(of[1], of[2].strip().strip("()"), of[3] or "") for of in found if of)
    return tuple(one for one in each if one.name != "glassformer" and one.extra not in OF_DEVELOPERS)


def problems() -> Iterator[PackageError]:
    """What is wrong with the packages that glassformer always needs."""
    yield from (wrong for each in requirements() if not each.extra and (wrong := each.problem) is not None)


def check_torch() -> None:
    """Raise PackageError if torch is too old. A missing one is found when it is imported: few answers need none."""
    found = torch_facts().get("__version__")
    if found is not None and not satisfies(found, f">={OLDEST_TORCH}"):
        raise PackageError("torch", needs=f">={OLDEST_TORCH}", got=found)


def torch_facts() -> dict[str, str | None]:
    """What torch says of itself in its file version.py (`__version__`, `cuda`, …); empty without torch."""
    facts: dict[str, str | None] = {}
    with suppress(ImportError, ValueError, OSError, TypeError, IndexError):
        spec = find_spec("torch")
        places = None if spec is None else spec.submodule_search_locations
        if places:
            text = Path(places[0], "version.py").read_text(encoding="utf-8")
            for name, value in re.findall(r"^(\w+)\b[^=\n]*= *(None|'[^'\n]*')", text, re.MULTILINE):
                facts[name] = None if value == "None" else value.strip("'")
    return facts


def satisfies(version: str, versions: str) -> bool:
    """Whether a version is in a range such as `>=2.3,<3`; parts that are no numbers are not compared."""
    for limit in filter(None, (part.strip() for part in versions.split(","))):
        bound = limit.lstrip("<>=!~")
        sign, of, to = limit.removesuffix(bound), _numbers(version), _numbers(bound.strip())
        width = max(len(of), len(to))
        of, to = of + (0,) * (width - len(of)), to + (0,) * (width - len(to))
        fits = {">=": of >= to, "<": of < to, "==": of == to, "<=": of <= to, ">": of > to, "!=": of != to}
        if not fits.get(sign, True):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    leading = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in leading[0].split(".")) if leading else ()
