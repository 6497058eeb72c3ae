"""docs/reference/python*.md: the public names with their signatures and docstrings, read from the sources."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import glassformer
from glassformer.api import writing
from glassformer.decode.options import WritingOptions

INTRO = """# {title}

{about} The names come with `import glassformer as gf`. Errors are subclasses of `gf.GlassformerError`: their text says
what was wanted, what came, and what to do. Written by `python -m manual tables` from the docstrings.
"""


class Page(NamedTuple):
    """A page of the reference: its title, a sentence, and its names in their order."""

    title: str
    about: str
    names: tuple[str, ...]


PAGES = {
    "python": Page(
        "Python: train and use",
        "Open a model, train one, ask it, compare two, and use it in scikit-learn.",
        (
            *("load", "train", "compare", "Model", "DecodeSettings", "SearchIndex", "Reranker", "Mix"),
            *("TextClassifier", "TextRegressor", "Tagger", "TextFeatures", "Recipe", "GlassformerError"),
        ),
    ),
    "python-look": Page(
        "Python: look inside",
        "Traces, interventions, and what many numbers sum up to.",
        (
            *("trace", "load_trace", "Trace", "watch", "tensor_names", "heads", "head_importance", "rollout"),
            *(
                "logit_lens",
                "attributions",
                "contributions",
                "integrated_gradients",
                "ties",
                "activity_matrix",
                "ChangeWord",
                "MaskWord",
                "Replace",
                "allow",
            ),
            *("forbid", "zero_head", "average_head", "zero_layer", "average_layer", "set_number", "patch"),
        ),
    ),
    "python-parts": Page(
        "Python: models and tokenizers",
        "Build a model without a recipe, and cut text into tokens.",
        ("family_config", "ModelConfig", "build", "Transformer", "Inputs", "Tokenizer"),
    ),
}


def page(name: str) -> str:
    """One page."""
    of = PAGES[name]
    return INTRO.format(title=of.title, about=of.about) + "".join(f"\n{_entry(each)}" for each in of.names)


def _entry(name: str) -> str:
    found = getattr(glassformer, name)
    if not inspect.isclass(found):
        return f"## {name}\n\n{_code(f'gf.{name}', _function(found))}\n{_text(found)}\n"
    parts = [f"## {name}\n", _constructor(name, found), _text(found), ""]
    for method, function in _methods(found):
        kind = _code(f"{name[0].lower()}{name[1:]}.{method}" if function else method, function) if function else ""
        about = _text(inspect.getattr_static(found, method))
        parts.append(f"### {name}.{method}\n\n{kind}\n{about}\n" if kind else f"### {name}.{method}\n\n{about}\n")
    return "\n".join(parts)


def _text(found: Any) -> str:
    of = found.fget if isinstance(found, property) else getattr(found, "func", found)
    return re.sub(r"`?docs/([\w-]+)/([\w-]+)\.md`?", r"[\2](../\1/\2.md)", inspect.getdoc(of) or "")


def _constructor(name: str, kind: type) -> str:
    if issubclass(kind, BaseException) or hasattr(kind, "model_fields"):
        fields = getattr(kind, "model_fields", {})
        inside = ", ".join(f"{key}=…" for key in fields)
        return f"```text\ngf.{name}({inside})\n```\n" if fields else ""
    if dataclasses.is_dataclass(kind):
        return f"```text\ngf.{name}({', '.join(each.name for each in dataclasses.fields(kind) if each.init)})\n```\n"
    own = next((each for each in kind.__mro__ if "__init__" in vars(each) and _ours(each)), None)
    return "" if own is None else _code(f"gf.{name}", _method(own, "__init__")) + ""


def _ours(kind: type) -> bool:
    return kind.__module__.startswith("glassformer.")


def _methods(kind: type) -> Iterator[tuple[str, ast.FunctionDef | None]]:
    """Public methods and properties with a docstring, those of the class's own bases too."""
    seen: set[str] = set()
    for each in kind.__mro__:
        if not _ours(each) or each.__module__ == "glassformer.base.settings":
            continue
        for name, value in vars(each).items():
            if name.startswith("_") or name in seen or not _text(value) or not _callable(value):
                continue
            seen.add(name)
            yield name, None if isinstance(value, property) else _method(each, name)


def _callable(value: Any) -> bool:
    return isinstance(value, property | staticmethod | classmethod) or inspect.isfunction(value)


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _method(kind: type, name: str) -> ast.FunctionDef | None:
    for each in ast.walk(_tree(sys.modules[kind.__module__])):
        if isinstance(each, ast.ClassDef) and each.name == kind.__name__:
            return next((one for one in each.body if isinstance(one, ast.FunctionDef) and one.name == name), None)
    return None


def _function(found: Any) -> ast.FunctionDef | None:
    module = sys.modules[found.__module__]
    body = _tree(module).body
    return next((one for one in body if isinstance(one, ast.FunctionDef) and one.name == found.__name__), None)


def _code(called: str, function: ast.FunctionDef | None) -> str:
    """A call as it may be written, with types and defaults, in lines of at most 100 characters."""
    if function is None:
        return ""
    line = f"{called}({', '.join(_arguments(function.args))})"
    if function.returns is not None and function.name != "__init__":
        line += f" -> {ast.unparse(function.returns)}"
    return f"```text\n{_wrapped(line)}\n```\n"


def _arguments(of: ast.arguments) -> Iterator[str]:
    """Each argument with its type and default; `self` and `cls` are bound."""
    defaults = [None] * (len(of.args) - len(of.defaults)) + list(of.defaults)
    for each, default in zip(of.args, defaults, strict=True):
        if each.arg not in ("self", "cls"):
            yield _argument(each, default)
    if of.vararg is not None:
        yield f"*{_argument(of.vararg, None)}"
    elif of.kwonlyargs:
        yield "*"
    for each, default in zip(of.kwonlyargs, of.kw_defaults, strict=True):
        yield _argument(each, default)
    if of.kwarg is not None and of.kwarg.annotation is not None:
        yield from [*([] if of.vararg or of.kwonlyargs else ["*"]), *_keywords(ast.unparse(of.kwarg.annotation))]


def _keywords(unpacked: str) -> Iterator[str]:
    """The keywords of a verb that writes, from the name of their types: `Unpack[_Generating]`."""
    defaults = {each.name: each.default for each in dataclasses.fields(WritingOptions)}
    for name, kind in getattr(writing, unpacked.removeprefix("Unpack[").removesuffix("]")).__annotations__.items():
        yield f"{name}: {kind.__forward_arg__} = {defaults[name]!r}"


def _argument(of: ast.arg, default: ast.expr | None) -> str:
    kind = "" if of.annotation is None else f": {ast.unparse(of.annotation).strip(chr(39))}"
    return f"{of.arg}{kind}" if default is None else f"{of.arg}{kind}{' = ' if kind else '='}{ast.unparse(default)}"


def _wrapped(line: str) -> str:
    """In lines of at most 100 characters; one ends after a comma, not inside of an argument."""
    whole = re.sub(r"(?<!,) ", "\0", line).replace("\0->", " ->")
    lines = textwrap.wrap(whole, 100, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")
