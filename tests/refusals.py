"""What an error says is checked by the values its fields carry; the wording stands in `golden/messages.json`."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from glassformer.base.errors import GlassformerError

Values = str | tuple[str, ...]


@contextmanager
def refused(
    kind: type[GlassformerError], *, wanted: Values = (), got: Values = (), do: Values = ()
) -> Iterator[pytest.ExceptionInfo[GlassformerError]]:
    """The block ends with this error, in one line, and each of these values stands in its field.

    A value is a number, a path, a line, a shape, a name: what a change of wording would leave.
    """
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert type(error) is kind
    assert "\n" not in str(error)
    for field, found, values in (("wanted", error.wanted, wanted), ("got", error.got, got), ("do", error.do, do)):
        for value in (values,) if isinstance(values, str) else values:
            assert carries(found, value), f"{field} does not carry {value!r}: {found!r}"


def carries(field: str, value: str) -> bool:
    """Whether a value stands in a field whole: 3 stands neither in 13 nor in 3.5 nor in -3."""
    before = r"(?<![\w.\-])" if value[:1].isdigit() else r"(?<!\w)" if re.match(r"\w", value) else ""
    after = r"(?!\w|[.,]\d)" if value[-1:].isdigit() else r"(?!\w)" if re.search(r"\w$", value) else ""
    return re.search(before + re.escape(value) + after, field) is not None
