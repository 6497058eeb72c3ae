"""docs/notebooks/mask-matrix.ipynb, for the dead link of the mask-matrix post: python -m experiments.notebook.

Its cells, text and code by turns, are run one after the other, and it keeps what they print. Jupyter is not needed.
"""

import contextlib
import io
import json
from typing import Any

from experiments.page import DOCS

NOTEBOOK = DOCS / "notebooks" / "mask-matrix.ipynb"


def notebook() -> dict[str, Any]:
    """The notebook, format 4.5, with what its cells print when they are run here."""
    names: dict[str, Any] = {}
    cells = []
    for number, source in enumerate(
        "".join(each["source"]) for each in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    ):
        cell: dict[str, Any] = {"cell_type": "markdown", "id": f"cell-{number}", "metadata": {}}
        cell["source"] = lines(source)
        if number % 2:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(source, f"cell-{number}", "exec"), names)
            output = {"name": "stdout", "output_type": "stream", "text": lines(printed.getvalue())}
            cell |= {"cell_type": "code", "execution_count": number // 2 + 1, "outputs": [output]}
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


if __name__ == "__main__":
    NOTEBOOK.write_text(json.dumps(notebook(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(NOTEBOOK)
