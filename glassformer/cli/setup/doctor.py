import platform
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from glassformer import __version__
from glassformer.base import machine
from glassformer.base.errors import PackageError
from glassformer.base.installed import Requirement, problems, requirements, torch_facts
from glassformer.base.paths import cache_folder, check_writable, not_kept
from glassformer.bundled.travelling import travelling
from glassformer.cli.terminal.options import Json
from glassformer.cli.terminal.screen import console, escaped, print_facts, record

# The packages of the engines in addition to torch.
ENGINES = ("ctranslate2", "onnxruntime")
_INSTALL = "install it with: "
# Of the processor's many features, those that decide how fast matrix products are.
_FEATURES = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8", "asimd", "sve", "bf16", "i8mm")


@dataclass(frozen=True)
class Finding:
    """A problem in one sentence, and the command that corrects it. `serious`: glassformer does not work with it."""

    sentence: str
    command: str = ""
    serious: bool = False


def doctor(json: Json = False) -> None:
    """Show the versions, the processor, the engines, the GPU, the cache folder and the models of this installation, and
    what is missing, with the command that installs it. The exit code is 1 if a required package is missing or
    too old.
    """
    facts, findings = _facts(), list(_findings())
    if json:
        shown = [{"sentence": f.sentence, "command": f.command or None, "serious": f.serious} for f in findings]
        record({**facts, "findings": shown}, sys.stdout)
    else:
        _print(facts, findings)
    if any(each.serious for each in findings):
        raise typer.Exit(1)


def _facts() -> dict[str, Any]:
    torch, features = torch_facts(), machine.features()
    needed: dict[str, dict[str, str | None]] = {}
    extras: dict[str, dict[str, str | None]] = {}
    for each in requirements():
        if each.extra:
            extras.setdefault(each.extra, {})[each.name] = each.installed
        else:
            needed[each.name] = {"needs": each.versions, "installed": each.installed}
    cache, why = _cache()
    own = Path("runs").glob("*/glassformer.json")
    return {
        "glassformer": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "torch": torch.get("__version__"),
        "cuda": torch.get("cuda"),
        "packages": needed,
        "extras": extras,
        "processor": machine.processor(),
        "features": None if features is None else [name for name in _FEATURES if name in features],
        "bfloat16": bool((features or frozenset()) & machine.FAST_BFLOAT16),
        "threads": machine.threads(),
        "compiler": machine.compiler(),
        "engines": {"torch": torch.get("__version__"), **{of: Requirement(of, "").installed for of in ENGINES}},
        "gpus": machine.gpus(),
        "cache": {"folder": cache, "writable": not why},
        "models": {"bundled": list(travelling()), "runs": [str(path.parent) for path in sorted(own)]},
    }


def _findings() -> Iterator[Finding]:
    for wrong in problems():
        yield _missing(wrong, serious=True)
    if not requirements():
        yield Finding("glassformer is not installed as a package, so its packages were not checked", "pip install .")
    if why := _cache()[1]:
        yield Finding(why, "export GLASSFORMER_CACHE=FOLDER, a folder that can be written")
    try:
        check_writable(Path(tempfile.gettempdir()))
    except OSError as error:
        do = "export TMPDIR=FOLDER, a folder that can be written"
        yield Finding(f"the temporary folder cannot be written ({error.strerror or error})", do)
    if machine.features() is None:
        yield Finding(machine.UNKNOWN)
    if machine.compiler() is None:
        slower = "there is no C++ compiler, so training steps are not compiled, and slower"
        yield Finding(slower, "install g++ or clang++")
    if machine.gpus() and torch_facts() and torch_facts().get("cuda") is None:
        unused = f"torch is built without CUDA and does not use the GPU {machine.gpus()[0]}"
        yield Finding(unused, "install a CUDA build")
    said = set()
    for each in requirements():
        of_extra = each.problem if each.extra and each.extra not in said else None
        if of_extra is not None:
            said.add(each.extra)
            yield _missing(of_extra)


def _missing(wrong: PackageError, *, serious: bool = False) -> Finding:
    return Finding(str(wrong), wrong.do.removeprefix(_INSTALL), serious)


def _cache() -> tuple[str | None, str]:
    """The cache folder, and why nothing can be kept in it; "" if it can be written."""
    folder = None
    try:
        folder = cache_folder()
        check_writable(folder)
    except OSError as error:
        return None if folder is None else str(folder), not_kept(error)
    return str(folder), ""


def _print(facts: Mapping[str, Any], findings: list[Finding]) -> None:
    from rich.padding import Padding  # not at the top: --help must not import it

    screen = console()
    cache, features = facts["cache"], facts["features"]
    engines = [f"{name} {of}" for name, of in facts["engines"].items() if of]
    here = [name for name, of in facts["extras"].items() if all(of.values())]
    right = sum(each["installed"] is not None for each in facts["packages"].values())
    rows = {
        "glassformer": f"{facts['glassformer']}, Python {facts['python']}, {facts['system']}",
        "packages": f"{right} of {len(facts['packages'])} required packages are installed",
        "extras": ", ".join(here) or "none",
        "engines": ", ".join(engines) or "none",
        "processor": f"{facts['processor']}: {', '.join(features) if features else 'features unknown'}",
        "precision": "bfloat16 for matrix products" if facts["bfloat16"] else "float32",
        "threads": str(facts["threads"]),
        "compiler": facts["compiler"] or "none",
        "GPU": ", ".join(facts["gpus"]) or "none",
        "cache": f"{cache['folder'] or 'none'} ({'can' if cache['writable'] else 'cannot'} be written)",
        "models": ", ".join([*facts["models"]["bundled"], *facts["models"]["runs"]]) or "none",
    }
    print_facts(screen, rows)
    for title, serious in (("wrong", True), ("could be better", False)):
        some = [each for each in findings if each.serious == serious]
        if some:
            screen.print(f"\n[bold]{title}[/bold]")
        for each in some:
            sentence = each.sentence.removesuffix(f"; {_INSTALL}{each.command}")
            screen.print(Padding(escaped(sentence), (0, 0, 0, 2)))
            if each.command:  # unbroken, to be copied
                screen.print(escaped(f"    {each.command}"), soft_wrap=True)
    if not findings:
        screen.print("\nnothing is missing")
