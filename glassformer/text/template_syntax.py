"""The syntax of templates: `generation`, and a syntax tree in which everything that works goes through a method that
counts.
"""

from typing import Any

import jinja2
from jinja2 import nodes
from jinja2.exceptions import SecurityError
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.runtime import Macro
from jinja2.visitor import NodeTransformer


class Generation(Extension):
    """`{% generation %}` … `{% endgeneration %}`: what the model wrote; `spans` are its characters in the text."""

    tags = {"generation"}  # noqa: RUF012 - Jinja's own declaration

    def __init__(self, environment: jinja2.Environment) -> None:
        super().__init__(environment)
        self.written: list[str] = []
        self.spans: list[tuple[int, int]] = []

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_mark"), [], [], body).set_lineno(line)

    def _mark(self, caller: Macro) -> str:
        text = str(caller())
        start = sum(map(len, self.written))
        self.spans.append((start, start + len(text)))
        return text


class Counted(NodeTransformer):
    """Puts the counting methods of `Sandbox` into a syntax tree; raises SecurityError for what reads other files."""

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - as Jinja calls it
        self.generic_visit(node)
        assert isinstance(node.iter, nodes.Expr)
        node.iter = _through("looped", node.iter)
        return node

    def visit_Output(self, node: nodes.Output) -> nodes.Node:  # noqa: N802 - as Jinja calls it
        self.generic_visit(node)
        node.nodes = [
            _through("wrote", nodes.Const(each.data) if isinstance(each, nodes.TemplateData) else each)
            for each in node.nodes
        ]
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - as Jinja calls it
        self.generic_visit(node)
        return _through("joined", *node.nodes)

    def _list(self, node: Any) -> nodes.Node:
        self.generic_visit(node)
        return node if getattr(node, "ctx", "load") != "load" else _through("kept", node)

    visit_List = visit_Dict = visit_Tuple = _list  # noqa: N815 - as Jinja calls them

    def _reads(self, node: nodes.Node) -> nodes.Node:
        raise SecurityError(f"{type(node).__name__.lower()} on line {node.lineno}, which reads another file")

    visit_Include = visit_Import = visit_FromImport = visit_Extends = _reads  # noqa: N815 - as Jinja calls them

    def visit_ScopedEvalContextModifier(self, node: nodes.Node) -> nodes.Node:  # noqa: N802 - as Jinja calls it
        """Refused: texts are not escaped for HTML."""
        raise SecurityError(f"autoescape on line {node.lineno}")


def _through(method: str, *values: nodes.Expr) -> nodes.Call:
    """The call of a method of the sandbox. A template cannot write this node, nor hide the method behind a name."""
    call = nodes.Call(nodes.EnvironmentAttribute(method), list(values), [], None, None)
    call.set_lineno(values[0].lineno)
    return call
