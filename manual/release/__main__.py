"""Check a release: build it, install it where nothing else is, and try it from outside the repository.

python -m manual.release build             # dist/: sdist, and the wheel built from it; at most 45 MB each
python -m manual.release tests             # the quick tests, on each Python that is here, with the pinned torch
python -m manual.release tests 3.11:2.9.0  # a Python and a torch; on Linux, other torches are CUDA builds of GBs
python -m manual.release tests 3.11:2.13.0:oldest   # with the oldest versions of all other packages
python -m manual.release tests PATH        # an environment that has a torch already
python -m manual.release extras [NAME ...] # each extra installed alone and tried
python -m manual.release types             # a project outside, checked by mypy and pyright

Each row of docs/results/release.json has its own day; the table in docs/reference/platforms.md is made from it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from experiments import results
from manual.release import table
from manual.release.trials import OUTSIDE, TRIALS, WRONG

ROOT = Path(__file__).resolve().parents[2]
DIST, WORK = ROOT / "dist", ROOT / "build" / "release"
MOST_MEGABYTES = 45
PYTHONS = ("3.11", "3.12", "3.13")
# Tests that need neither the repository nor the packages of the extras, a few minutes on two cores.
QUICK = (
    "tests/models",
    "tests/golden/test_saved_before.py",
    "tests/golden/test_golden_numbers.py",
    "tests/runtime/test_device.py",
    "tests/text/test_tokenizer.py",
    "tests/training/test_record.py",
    "tests/cli/test_verbs.py",
    "tests/cli/test_quick_answers.py",
)
# Here, a warning of a newer Python or torch is no failure: it is counted in the repository's own tests.
PYTEST_INI = (
    "[pytest]\npythonpath = .\naddopts = --import-mode=importlib -m 'not long'\nmarkers =\n    long\n    sampled(n)\n"
)


def main(words: Sequence[str]) -> int:
    """Do one part, or all of them; returns the exit code."""
    if not words:
        return max(main([part]) for part in ("build", "tests", "extras", "types"))
    part, *rest = words
    return {"build": build, "tests": tests, "extras": extras, "types": types}[part](rest)


def build(_: Sequence[str]) -> int:
    """Build the sdist, and the wheel from what the sdist holds, so that neither can lack a file that the other has."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    call = "import sys, setuptools.build_meta as backend; print(getattr(backend, sys.argv[1])(sys.argv[2]))"
    run([sys.executable, "-c", call, "build_sdist", str(DIST)], ROOT)
    (sdist,) = DIST.glob("*.tar.gz")
    unpacked = WORK / "sdist"
    shutil.rmtree(unpacked, ignore_errors=True)
    shutil.unpack_archive(sdist, unpacked, filter="data")
    run([sys.executable, "-c", call, "build_wheel", str(DIST)], next(unpacked.iterdir()))
    sizes = {path.name: round(path.stat().st_size / 1e6, 1) for path in sorted(DIST.iterdir())}
    keep("build", {"sizes": {"megabytes": sizes}})
    print(sizes)
    return int(any(size > MOST_MEGABYTES for size in sizes.values()))


def tests(words: Sequence[str]) -> int:
    """Run the quick tests in each environment that is named, or with the pinned torch on each Python that is here."""
    pinned = pinned_torch()
    here = interpreters()
    for missing in [version for version in PYTHONS if version not in here]:
        print(f"Python {missing} is not on this machine")
    failed = 0
    for word in words or [f"{version}:{pinned}" for version in here]:
        version, torch, packages = (*word.split(":"), "", "")[:3]
        ready = Path(word, "bin", "python").absolute()
        python = ready if ready.exists() else environment(version, torch, packages)
        row = tested(python, packages or "newest")
        keep(f"tests {word}", {"tests": {row.pop("of"): row}})
        failed |= row["failed"] != 0 or row["passed"] == 0
    return int(failed)


def tested(python: Path, packages: str) -> dict[str, Any]:
    """The quick tests in one environment, from a copy of them outside the repository; `packages` are the oldest that
    pyproject.toml promises, or the newest.
    """
    (wheel,) = DIST.glob("*.whl")
    limits = ("--constraint", str(oldest())) if packages == "oldest" else ()
    pip(python, str(wheel), "pytest>=8", "hypothesis>=6.100", *limits)
    pip(python, "--force-reinstall", "--no-deps", str(wheel))
    outside = WORK / "outside"
    shutil.rmtree(outside, ignore_errors=True)
    shutil.copytree(ROOT / "tests", outside / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    (outside / "pytest.ini").write_text(PYTEST_INI)
    began = time.monotonic()
    subprocess.run(
        [python, "-m", "pytest", "-q", "--junit-xml=found.xml", *QUICK], cwd=outside, env=clean(), check=False
    )
    suite = next(ElementTree.parse(outside / "found.xml").getroot().iter("testsuite"))
    count = {name: int(suite.get(name, "0")) for name in ("tests", "failures", "errors", "skipped")}
    failed = count["failures"] + count["errors"]
    facts = asked(python, "import platform, torch; print(platform.python_version(), torch.__version__)").split()
    return {
        "of": f"{facts[0]} {facts[1]} {packages}",
        "torch": facts[1],
        "passed": count["tests"] - failed - count["skipped"],
        "failed": failed,
        "skipped": count["skipped"],
        "seconds": round(time.monotonic() - began),
    }


def extras(words: Sequence[str]) -> int:
    """Install each extra alone, on top of an environment with glassformer and torch, and try it."""
    base = environment("3.11", pinned_torch())
    (wheel,) = DIST.glob("*.whl")
    pip(base, str(wheel))
    pip(base, "--force-reinstall", "--no-deps", str(wheel))
    failed = 0
    for name in words or TRIALS:
        venv = WORK / f"extra-{name}"
        shutil.rmtree(venv, ignore_errors=True)
        subprocess.run([base, "-m", "venv", venv], check=True)
        site, python = next(venv.glob("lib/python3*/site-packages")), venv / "bin" / "python"
        # What the base has is seen from here, and not installed again.
        (site / "base.pth").write_text(asked(base, "import sysconfig; print(sysconfig.get_path('purelib'))") + "\n")
        before = size_of(site)
        pip(python, f"glassformer[{name}]", "--find-links", str(DIST), "--pre")
        place = WORK / f"trial-{name}"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        done = subprocess.run(
            [python, "-c", TRIALS[name]], cwd=place, env=clean(), capture_output=True, text=True, check=False
        )
        print(name, done.returncode, done.stdout[-300:], done.stderr[-1500:] if done.returncode else "")
        added = max(0, size_of(site) - before)  # pip may have removed some of its own files
        row = {"works": done.returncode == 0, "megabytes": round(added / 1e6)}
        keep(f"extras {name}", {"extras": {name: row}})
        failed |= done.returncode != 0
    return int(failed)


def types(_: Sequence[str]) -> int:
    """Check a small project that uses the installed package, with mypy and pyright, both strict: they accept it, and
    find the error in a copy.
    """
    python = environment("3.11", pinned_torch())
    (wheel,) = DIST.glob("*.whl")
    pip(python, str(wheel), "mypy", "pyright[nodejs]")
    place = WORK / "types"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    (place / "uses.py").write_text(OUTSIDE)
    (place / "wrong.py").write_text(OUTSIDE + WRONG)
    (place / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "reportMissingTypeStubs": false}')
    failed = 0
    for name, options in {"mypy": ["--strict"], "pyright": ["--pythonpath", str(python)]}.items():
        right, wrong = (checked(python, name, [*options, file], place) for file in ("uses.py", "wrong.py"))
        print(name, right.stdout[-2000:], right.stderr[-500:])
        works = right.returncode == 0 and wrong.returncode == 1
        version = asked(python, f"from importlib import metadata; print(metadata.version({name!r}))")
        keep("types", {"types": {name: {"works": works, "version": version}}})
        failed |= not works
    return int(failed)


def checked(python: Path, name: str, words: Sequence[str], place: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-m", name, *words], cwd=place, env=clean(), capture_output=True, text=True, check=False
    )


def interpreters() -> dict[str, str]:
    """The Pythons of this machine by version: those that can be started."""
    found: dict[str, str] = {}
    places = [*Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions").glob("*/bin/python"), "python3"]
    for place in [*map(str, places), *(f"python{version}" for version in PYTHONS)]:
        try:
            version = asked(place, "import sys; print('%d.%d' % sys.version_info[:2])")
        except (OSError, subprocess.CalledProcessError):
            continue
        if version in PYTHONS:
            found.setdefault(version, place)
    return dict(sorted(found.items()))


def oldest() -> Path:
    """A file that constrains all packages but torch to the oldest versions that pyproject.toml promises."""
    needs = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    lines = [re.sub(r">=([\d.]+).*", r"==\1", need) for need in needs if not need.startswith("torch")]
    path = WORK / "oldest.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def environment(python: str, torch: str, packages: str = "") -> Path:
    """The interpreter of an environment with this torch; it is made where there is none."""
    venv = WORK / f"python{python}-torch{torch}{packages}"
    if not (venv / "bin" / "python").exists():
        subprocess.run([interpreters()[python], "-m", "venv", venv], check=True)
        pip(venv / "bin" / "python", f"torch=={torch}")
    return venv / "bin" / "python"


def pinned_torch() -> str:
    """The torch of constraints.txt."""
    return re.findall(r"^torch==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)[0]


def pip(python: Path, *words: str) -> None:
    run([str(python), "-m", "pip", "--disable-pip-version-check", "--quiet", "install", *words], ROOT)


def run(command: Sequence[str], folder: Path) -> None:
    """Run a command quietly; what it has said is shown where it fails."""
    done = subprocess.run(command, cwd=folder, env=clean(), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def asked(python: Path | str, code: str) -> str:
    """What a short program prints."""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, env=clean())
    return done.stdout.strip()


def clean() -> dict[str, str]:
    """The environment without what would let the checkout be imported."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def keep(command: str, values: Mapping[str, Mapping[str, Any]]) -> None:
    """Put rows in the place of their last results; each has its own day and machine."""
    before = results.read(table.NAME) or {}
    made_on = {name: value for name, value in results.made_on().items() if name in ("date", "machine")}
    parts = {name: dict(before.get(name, {})) for name in table.PARTS}
    for part, rows in values.items():
        parts[part] |= {name: {**row, **made_on} for name, row in rows.items()}
    results.write(table.NAME, "make release-check", parts)
    table.write()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
