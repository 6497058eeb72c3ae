"""Templates of strangers: Jinja in its own sandbox, without files, and with a limit on the work and the text of each.

Jinja's sandbox keeps a template from Python's insides, but not from loops without end and texts without end. Here a
template's syntax tree is changed before it is compiled: each loop, each piece of text and each list goes through a
method that counts; calls, operators and filters are counted where Jinja itself asks the sandbox.
"""

import json
import operator
import re
import threading
import time
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, Sized, ValuesView
from datetime import datetime
from functools import wraps
from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import loopcontrols
from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from glassformer.text.template_syntax import Counted, Generation

# Steps of a template, characters that it writes and of one of its values, and seconds for all. A conversation of a
# thousand turns needs some ten thousand steps; a part of a list counts as so many characters.
MOST_STEPS, MOST_CHARACTERS, MOST_SECONDS, OF_A_PART = 300_000, 4_000_000, 5.0, 20
# Numbers in formats and arguments of filters, such as the width of a column, bits of a whole number, and characters
# that one search compares.
_MOST_DIGITS, MOST_NUMBER, MOST_BITS, _MOST_COMPARED = 3, 10_000, 4096, 100_000_000
# Searches in which Python may compare all characters at each place.
_FROM_END = ("rfind", "rindex", "rpartition", "rsplit")
WIDE = re.compile(rf"\d{{{_MOST_DIGITS + 1},}}|\*|\{{[^{{}}]*\{{")


class EndlessTemplateError(SecurityError):
    """A template that does more than any conversation needs."""


def size_of(value: Any) -> int:
    """The size of a value with its parts, each counted as often as it is reached, up to the limit."""
    if isinstance(value, str):
        return len(value)
    total, waiting = 0, [value]
    while waiting and total <= MOST_CHARACTERS:
        each = waiting.pop()
        total += OF_A_PART
        if isinstance(each, str):
            total += len(each)
        elif isinstance(each, Mapping):
            waiting += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple | set | frozenset | KeysView | ValuesView | ItemsView):
            waiting += each
        elif isinstance(each, Namespace):
            waiting.append(each._Namespace__attrs)  # it hides all others
    return total


def is_small(operator_: str, left: Any, right: Any) -> bool:
    """Whether a product or a power can be computed: of whole numbers by their bits, of texts by their length."""
    if isinstance(left, int) and isinstance(right, int):
        bits = operator.mul(left.bit_length(), abs(right)) if operator_ == "**" else left.bit_length()
        return bits <= MOST_BITS
    sizes = [size_of(each) for each in (left, right) if isinstance(each, str | list | tuple)]
    times = max((each for each in (left, right) if isinstance(each, int)), default=1)
    return sum(sizes) * times <= MOST_CHARACTERS


def check_growth(name: str, of: list[Any], given: list[Any]) -> None:
    """Refuse what would make a very long text of short ones, or search for as long, before that; raises
    EndlessTemplateError.
    """
    text = of[0] if of else ""
    longest = max((size_of(each) for each in given if isinstance(each, str)), default=0)
    grown = 0
    if name == "replace" and given and isinstance(text, str):
        grown = text.count(given[0]) * longest if isinstance(given[0], str) else 0
    elif name == "join":
        lengths = sorted(len(each) for each in (text, *given) if isinstance(each, Sized))
        grown = lengths[-1] * lengths[-2] if len(lengths) > 1 else 0
    elif name == "indent" and isinstance(text, str):
        width = max((each for each in given if type(each) is int), default=4)
        grown = (text.count("\n") + 1) * max(width, longest)
    elif name == "format" and isinstance(text, str):
        if WIDE.search(text):
            raise EndlessTemplateError(f"a wide column in {text[:40]!r}")
        grown = (text.count("%") + text.count("{")) * max(map(size_of, given), default=0)
    elif name in _FROM_END and size_of(text) * longest > _MOST_COMPARED:
        raise EndlessTemplateError(f"{name} of {longest:,} characters in {len(text):,}")
    if grown > MOST_CHARACTERS:
        raise EndlessTemplateError(f"a text of more than {MOST_CHARACTERS:,} characters by {name}")


# Methods of texts that a template may use: the others are of no use in one, and some make long texts of short ones.
_OF_TEXTS = """
capitalize casefold count endswith find format index isalnum isalpha isascii isdecimal isdigit islower isnumeric
isspace istitle isupper join lower lstrip partition removeprefix removesuffix replace rfind rindex rpartition
rsplit rstrip split splitlines startswith strip swapcase title upper
""".split()  # noqa: SIM905 - legible
_FILTERS = """
abs capitalize count d default dictsort e escape first float format groupby indent int items join last length
list lower map max min reject rejectattr replace reverse round safe select selectattr sort string striptags sum
title trim truncate unique upper urlencode wordcount
""".split()  # noqa: SIM905 - legible


class RefusedError(jinja2.TemplateError):
    """What a template says by `raise_exception`: it does not write such a conversation."""


class TemplateNamespace(Namespace):
    """Jinja's `namespace`, without names that begin with an underscore."""

    def __init__(*args: Any, **kwargs: Any) -> None:
        self, attributes = args[0], dict(*args[1:], **kwargs)
        for name in attributes:
            _check_name(name)
        Namespace.__init__(self, attributes)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_name(name)
        super().__setitem__(name, value)


def _check_name(name: object) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise SecurityError(f"the name {name[:40]!r} in a namespace")


class Sandbox(ImmutableSandboxedEnvironment):
    """What a template may use: what `transformers` gives to chat templates, counted."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        # optimized: no expression is computed when the template is compiled, uncounted.
        super().__init__(
            trim_blocks=True, lstrip_blocks=True, optimized=False, cache_size=0, extensions=[Generation, loopcontrols]
        )
        self.filters = {name: self._counted(FILTERS[name]) for name in _FILTERS}
        self.filters["tojson"] = self._counted(_to_json)
        own = {"raise_exception": _refuse, "strftime_now": _now, "dict": dict, "namespace": TemplateNamespace}
        self.globals = {name: self.globals[name] for name in ("range", "cycler", "joiner")} | own
        self.generation: Generation = self.extensions[Generation.identifier]  # type: ignore[assignment]
        self._lock = threading.Lock()
        self._steps = self._characters = 0
        self._end = float("inf")

    def compiled(self, text: str) -> jinja2.Template:
        """The template of a text. Raises jinja2.TemplateError, SyntaxError and RecursionError."""
        tree = Counted().visit(self.parse(text))
        return jinja2.Template.from_code(self, self.compile(tree), dict(self.globals))

    def rendered(self, template: jinja2.Template, values: Mapping[str, Any]) -> tuple[str, list[tuple[int, int]]]:
        """The text that a template writes, and the characters [start, end) of it between `generation` and its end."""
        with self._lock:
            self._steps = self._characters = 0
            self._end = time.monotonic() + MOST_SECONDS
            self.generation.written, self.generation.spans = [], []
            for part in template.generate(values):
                self.generation.written.append(part)
            return "".join(self.generation.written), self.generation.spans

    # ------------------------------------------------------------------ counting

    def _spend(self, steps: int) -> None:
        self._steps += steps
        if self._steps > MOST_STEPS or time.monotonic() > self._end:
            raise EndlessTemplateError(f"more than {MOST_STEPS:,} steps, or {MOST_SECONDS:g} seconds")

    def kept(self, value: Any) -> Any:
        """A value, refused where it is too large; what an iterator gives as a list."""
        if isinstance(value, Iterator):
            return self._listed(value)
        if isinstance(value, int):
            if value.bit_length() > MOST_BITS:
                raise EndlessTemplateError(f"a number of more than {MOST_BITS:,} bits")
        elif size_of(value) > MOST_CHARACTERS:
            raise EndlessTemplateError(f"a value of more than {MOST_CHARACTERS:,} characters")
        return value

    def _listed(self, values: Iterable[Any]) -> list[Any]:
        found, total = [], 0
        for value in values:
            self._spend(1)
            total += size_of(value) + OF_A_PART
            if total > MOST_CHARACTERS:
                raise EndlessTemplateError(f"a list of more than {MOST_CHARACTERS:,} characters")
            found.append(value)
        return found

    def looped(self, values: Any) -> Any:
        if isinstance(values, Iterator):
            values = self._listed(values)
        try:
            self._spend(1 + len(values))
        except TypeError:
            self._spend(1)  # no list: Jinja refuses it
        return values

    def wrote(self, value: Any) -> str:
        """A piece of text that is written, to the end or into a variable."""
        self._spend(1)
        text = self._text(value)
        self._characters += len(text)
        if self._characters > MOST_CHARACTERS:
            raise EndlessTemplateError(f"a text of more than {MOST_CHARACTERS:,} characters")
        return text

    def joined(self, *values: Any) -> str:
        self._spend(1)
        texts = [self._text(value) for value in values]
        if sum(map(len, texts)) > MOST_CHARACTERS:
            raise EndlessTemplateError(f"a text of more than {MOST_CHARACTERS:,} characters")
        return "".join(texts)

    def _text(self, value: Any) -> str:
        return value if isinstance(value, str) else str(self.kept(value))

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A filter whose arguments and result are counted; Jinja's marks of the function are those of the result."""
        name = function.__name__.removeprefix("do_").removeprefix("sync_do_")

        @wraps(function)
        def counted(*given: Any, **named: Any) -> Any:
            self._spend(1)
            own = [each for each in given if not isinstance(each, jinja2.Environment | nodes.EvalContext | Context)]
            others = given[: len(given) - len(own)]
            for each in (*own[1:], *named.values()):
                if isinstance(each, int | float) and abs(each) > MOST_NUMBER:
                    raise EndlessTemplateError(f"{each} in the filter {name}")
            own = [self.kept(each) for each in own]
            # The old text of `replace` before the new one.
            check_growth(name, own[:1], [*own[1:], *(named[key] for key in sorted(named, reverse=True))])
            return self.kept(function(*others, *own, **named))

        return counted

    # ------------------------------------------------------------------ what Jinja asks of a sandbox

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """No insides of Python, nothing that changes a list, and the methods of texts that templates use."""
        return super().is_safe_attribute(obj, attr, value) and not (isinstance(obj, str) and attr not in _OF_TEXTS)

    def wrap_str_format(self, value: Any) -> Any:
        """`format` of a text that asks for no wide columns."""
        found = super().wrap_str_format(value)
        if found is None:
            return None
        if value.__name__ != "format":
            raise EndlessTemplateError(f"a wide column in {value.__self__[:40]!r}")

        def checked(*given: Any, **named: Any) -> str:
            check_growth("format", [value.__self__], [*given, *named.values()])
            return found(*given, **named)

        return checked

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N805 - as Jinja
        if getattr(__obj, "__self__", None) is __self:  # of a method of this class: it counts by itself
            return __context.call(__obj, *args, **kwargs)
        sizes = (len(each) for each in args if isinstance(each, list | tuple | dict))
        __self._spend(1 + sum(sizes))
        owner = getattr(__obj, "__self__", None)
        if isinstance(owner, str):
            check_growth(__obj.__name__, [owner], [__self.kept(each) for each in (*args, *kwargs.values())])
        return __self.kept(super().call(__context, __obj, *args, **kwargs))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        self._spend(1)
        if operator == "%" and isinstance(left, str):
            check_growth("format", [left], [right])
        if operator in ("*", "**") and not is_small(operator, left, right):
            raise EndlessTemplateError(f"a result of more than {MOST_CHARACTERS:,} characters by {operator}")
        return self.kept(super().call_binop(context, operator, left, right))


def _refuse(message: object) -> None:
    raise RefusedError(str(message)[:1000])


def _now(format: str) -> str:
    if len(format) > 100 or WIDE.search(format):
        raise EndlessTemplateError(f"a wide column in {format[:40]!r}")
    return datetime.now().strftime(format)


def _to_json(
    x: Any, ensure_ascii: bool = False, indent: int | None = None, separators: Any = None, sort_keys: bool = False
) -> str:
    """Without Jinja's escapes for HTML."""
    if isinstance(indent, str) or (indent or 0) > 16 or (separators is not None and size_of(separators) > 200):
        raise EndlessTemplateError("a wide column in tojson")
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)
