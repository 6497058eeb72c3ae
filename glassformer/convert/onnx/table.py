"""What a function is that writes one of torch's operators in ONNX, and the tables of such functions.

The arguments have torch's names; a function adds nodes and returns the name of the result, or the names of several.
`out` is the result as torch has it: its type and sizes.
"""

from collections.abc import Callable
from typing import Any

Operator = Callable[..., Any]


class Table(dict[str, Operator]):
    """Functions by torch's names for the operator."""

    def __call__(self, *names: str) -> Callable[[Operator], Operator]:

        def known(function: Operator) -> Operator:
            self.update(dict.fromkeys(names, function))
            return function

        return known
