"""What a release brings with it: a bill of materials (CycloneDX), and an audit of its packages for known weaknesses.

    python -m tests.release.bill PYTHON FOLDER      # FOLDER/sbom.json and FOLDER/audit.json

PYTHON is that of an environment into which only the release was installed. Needs the extra `release`: cyclonedx-bom and
pip-audit, both run from this environment. The audit asks the advisory database of the Python packaging authority.
Exit codes: 0 no known weakness; 1 one or more, each named; 2 something could not be done, with a sentence.
"""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

TOOLS = {"cyclonedx_py": "cyclonedx-bom", "pip_audit": "pip-audit"}
_PATHS = (
    "import json, sysconfig; print(json.dumps(sorted({sysconfig.get_path('purelib'), sysconfig.get_path('platlib')})))"
)


class NotDoneError(Exception):
    """Something could not be done; the message is one sentence."""


def bill(python: str, out: Path) -> list[str]:
    """Write the bill of materials of an environment; returns its packages as name==version."""
    stated = _run("cyclonedx_py", "environment", python, "--output-reproducible", "--of", "JSON", "-o", str(out))
    if stated.returncode:
        raise NotDoneError(f"no bill of materials was made of {python}: {_last(stated.stderr)}")
    made = json.loads(out.read_text(encoding="utf-8"))
    found = sorted(f"{part['name']}=={part['version']}" for part in made.get("components", []))
    if not any(each.startswith("glassformer==") for each in found):
        raise NotDoneError(f"the bill of materials must name glassformer, but {python} does not have it installed")
    return found


def audit(python: str, out: Path) -> list[str]:
    """Write what is known against the packages of an environment; returns a line for each weakness."""
    asked = subprocess.run([python, "-c", _PATHS], capture_output=True, text=True)
    if asked.returncode:
        raise NotDoneError(f"{python} must be the Python of an environment: {_last(asked.stderr)}")
    paths = [word for path in json.loads(asked.stdout) for word in ("--path", path)]
    found = _run(
        "pip_audit", *paths, "--format", "json", "--output", str(out), "--progress-spinner", "off", "--timeout", "20"
    )
    try:
        if found.returncode not in (0, 1):
            raise ValueError
        return weaknesses(json.loads(out.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        raise NotDoneError(
            f"the audit needs the advisory database, which could not be reached: {_last(found.stderr)}"
        ) from None


def weaknesses(report: dict[str, Any]) -> list[str]:
    """A line for each weakness in a report of pip-audit, and one for the packages that it could not look up, but for
    glassformer itself, which is on no index before its release. Raises NotDoneError where it could look up none.
    """
    packages = [each for each in report["dependencies"] if each["name"] != "glassformer"]
    skipped = [each["name"] for each in packages if "skip_reason" in each]
    if len(skipped) == len(packages):
        raise NotDoneError(
            f"the audit needs the advisory database, which knows none of these {len(packages)} packages: it was not "
            "reached, or this index has no advisories"
        )
    lines = [f"not audited: {', '.join(skipped)}"] if skipped else []
    for package in packages:
        for each in package.get("vulns", ()):
            mended = ", ".join(each["fix_versions"]) or "no version"
            lines.append(f"{package['name']} {package['version']}: {each['id']}, mended in {mended}")
    return lines


def _run(module: str, *words: str) -> subprocess.CompletedProcess[str]:
    if importlib.util.find_spec(module) is None:
        raise NotDoneError(f"{TOOLS[module]} must be installed: pip install -c constraints.txt '.[release]'")
    return subprocess.run([sys.executable, "-m", module, *words], capture_output=True, text=True)


def _last(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing was said"


def main(arguments: Sequence[str]) -> int:
    if len(arguments) != 2:
        print("two arguments are needed: the Python of an environment, and a folder for what is found", file=sys.stderr)
        return 2
    python, folder = arguments[0], Path(arguments[1])
    folder.mkdir(parents=True, exist_ok=True)
    code = 0
    try:
        packages = bill(python, folder / "sbom.json")
        print(f"{folder / 'sbom.json'}: {len(packages)} packages")
        found = audit(python, folder / "audit.json")
        print(*found or ["no known weakness"], sep="\n")
        code = int(bool(found))
    except NotDoneError as error:
        print(error, file=sys.stderr)
        code = 2
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
