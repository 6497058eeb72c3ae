"""The imports of the package, read from the syntax trees, and the order of its rooms."""

import ast
from collections.abc import Container, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parents[1] / "glassformer"
FILES = sorted(PACKAGE.rglob("*.py"))

ROOMS = (
    "base",
    "config",
    "parts",
    "models",
    "text",
    "runtime",
    "data",
    "decode",
    "scoring",
    "tasks",
    "training",
    "convert",
    "bundled",
    "saved",
    "answering",
    "features",
    "look",
    "run",
    "page",
    "api",
    "cli",
    "__main__",
)
"""From the bottom up: a room imports those before it, wherever in a file and also for types alone. The package's own
`__init__` names the public types, and imports a name when it is first used.
"""


def module_of(path: Path) -> str:
    """`look.trace` for glassformer/look/trace/trace.py, `look` for glassformer/look/__init__.py."""
    steps = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(steps[:-1] if steps[-1] == "__init__" else steps)


class Read(NamedTuple):
    """What the tests ask of a text: what imports in it, or may, and calls anything else; its string constants."""

    nodes: tuple[ast.Import | ast.ImportFrom | ast.Call, ...]
    texts: frozenset[str]


@cache
def read(source: str) -> Read:
    """Kept, since to parse all files and to go through their trees takes seconds and several tests ask."""
    nodes, texts = list[ast.Import | ast.ImportFrom | ast.Call](), set[str]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom | ast.Call):
            nodes.append(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
    return Read(tuple(nodes), frozenset(texts))


def imports(source: str, module: str, *, package: bool) -> Iterator[tuple[int, str]]:
    """Line and target of each import of ours, those inside functions and type-checking blocks too."""
    for node in read(source).nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                if name.name.split(".")[0] == "glassformer":
                    yield node.lineno, name.name.partition(".")[2]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                home = ["glassformer", *module.split(".")] if module else ["glassformer"]
                home = home[: len(home) - node.level + package]
                start = ".".join([*home, *([node.module] if node.module else [])])
            else:
                start = node.module or ""
            if start.split(".")[0] == "glassformer":
                for name in node.names:
                    yield node.lineno, f"{start}.{name.name}".partition(".")[2]


def lazy_imports(source: str) -> Iterator[tuple[int, str]]:
    """Modules of ours named in text, as `importlib.import_module("glassformer.look")` does."""
    for node in read(source).nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute | ast.Name)
            and (node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id)
            in {"import_module", "__import__"}
        ):
            for argument in node.args:
                if isinstance(argument, ast.Constant) and str(argument.value).startswith("glassformer."):
                    yield node.lineno, str(argument.value).partition(".")[2]


def edges(sources: Mapping[str, tuple[str, bool]]) -> dict[str, set[str]]:
    """For each module the modules it imports, wherever in the file; `sources` has each text and whether it is an
    `__init__`. The package's own `__init__` names all public types for type checkers alone, which counts for nothing.
    """
    found: dict[str, set[str]] = {}
    for module, (source, package) in sources.items():
        if not module:
            source = ast.unparse(_Running().visit(ast.parse(source)))
        names = [name for _, name in [*imports(source, module, package=package), *lazy_imports(source)]]
        found[module] = {file_of(name, sources) for name in names} - {module}
    return found


class _Running(ast.NodeTransformer):
    """Without what only type checkers read."""

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        checked = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        return node.orelse if checked else self.generic_visit(node)


def file_of(name: str, known: Container[str]) -> str:
    """The module that `name` is, or stands in; "" is the package."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The sets of modules that reach one another (strongly connected components of more than one)."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        ahead = [start]
        while ahead:
            new = graph[ahead.pop()] - seen
            seen |= new
            ahead += new
        return seen

    reach = {module: reached(module) for module in graph}
    together = {
        tuple(sorted(other for other in graph if other in reach[module] and module in reach[other])) for module in graph
    }
    return sorted(list(each) for each in together if each)


def sources() -> dict[str, tuple[str, bool]]:
    """The text of each module, and whether it is an `__init__`."""
    return {module_of(path): (path.read_text(encoding="utf-8"), path.name == "__init__.py") for path in FILES}
