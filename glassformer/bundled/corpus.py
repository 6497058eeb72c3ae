"""English text from every installation: Python's documentation topics and the docstrings of installed packages.

Files are parsed with `ast`, never imported or run.
"""

import ast
import re
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

# Markup that is not English: prompts, tables, rulers, long literal lines.
_CODE_LINE = re.compile(r"^\s*(>>>|\.\.\.|\$ |\||\+[-=+]|[-=~^*#]{3,})")
_WORD = re.compile(r"[A-Za-z]{2,}")
# Docstrings may have such characters, as one on zero bytes has; a text file must not.
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")


def documents(limit: int) -> Iterator[str]:
    """Prose from Python's topics, the library's docstrings, then packages', in order, up to `limit` characters."""
    taken = 0
    seen: set[str] = set()
    for text in _texts():
        prose = _prose(text)
        if len(prose) < 80 or prose in seen:
            continue
        seen.add(prose)
        taken += len(prose)
        yield prose
        if taken >= limit:
            return


def write_corpus(path: Path, limit: int) -> int:
    """Write the documents to one text file, separated by blank lines; returns their number."""
    count = 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        for text in documents(limit):
            file.write(text + "\n\n")
            count += 1
    return count


def _texts() -> Iterator[str]:
    library = Path(sysconfig.get_path("stdlib"))
    yield from _strings(library / "pydoc_data" / "topics.py")
    for root in (library, Path(sysconfig.get_path("purelib"))):
        for path in sorted(root.rglob("*.py")):
            inside = path.relative_to(root).parts
            if "test" in inside or "tests" in inside or (root == library and "site-packages" in inside):
                continue
            yield from _docstrings(path)


def _tree(path: Path) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # warnings about third-party files
            return ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, UnicodeDecodeError, ValueError, RecursionError):
        return None


def _strings(path: Path) -> Iterator[str]:
    tree = _tree(path)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) > 200:
            yield node.value


def _docstrings(path: Path) -> Iterator[str]:
    tree = _tree(path)
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield text


def _prose(text: str) -> str:
    """Paragraphs that look like English, one per line."""
    kept = []
    for paragraph in re.split(r"\n\s*\n", text):
        lines = [line.strip() for line in paragraph.splitlines() if not _CODE_LINE.match(line)]
        joined = " ".join(" ".join(lines).split())
        letters = sum(character.isalpha() or character == " " for character in joined)
        if len(_WORD.findall(joined)) >= 8 and letters >= 0.85 * len(joined) and not _CONTROL.search(joined):
            kept.append(joined)
    return "\n".join(kept)
