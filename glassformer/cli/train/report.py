"""A report of an evaluation in at most 80 columns: scores by label, confusion matrix, calibration, worst examples."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TextIO

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.markup import escape

from glassformer.base.wrapping import printable, wrapped
from glassformer.cli.terminal.screen import bar, console, escaped, print_table

_WIDTH = 80
# Shades of a cell of the confusion matrix, by its share of its row.
_SHADES = " ░▒▓█"
_LABEL = 16
# Texts of one of the worst examples: those shown without a name, and those shown with one.
_TEXTS, _NAMED = ("text", "pair"), ("source", "reference", "translation")
# Columns of a table of a part that is not known here, their widths, and its rows.
_COLUMNS, _COLUMN, _ROWS = 5, 13, 30


def show_report(report: Mapping[str, Any], handle: TextIO) -> None:
    """Print the parts of `Scores.report`, each under a title; other rows as tables, other values on a line each."""
    screen = console(handle)
    screen.width = min(_WIDTH, screen.width)
    for name in [*_PARTS, *(name for name in report if name not in _PARTS)]:
        if report.get(name):
            _PARTS.get(name, partial(_other, name))(report[name], screen, report)


def _labels(labels: Sequence[Mapping[str, Any]], screen: Console, report: Mapping[str, Any]) -> None:
    rows = []
    for each in labels:
        shares = [each[name] for name in ("precision", "recall", "f1")]
        cells = ["" if share is None else f"{share:.1%}" for share in shares]
        rows.append((_cut(each["label"], 24), f"{each['count']:,}", *cells, bar(each["f1"])))
    _title(screen, "By label, the most frequent first")
    print_table(screen, ("label", "count", "precision", "recall", "F1", ""), rows, slice(1, 5))


def _confusion(confusion: Mapping[str, Any], screen: Console, report: Mapping[str, Any]) -> None:
    side, cell = _sizes(confusion, screen)
    if not _fits(confusion, screen):
        return  # the pairs that are confused are listed
    names, counts = confusion["labels"], confusion["counts"]
    _title(screen, "Confusion matrix: rows are true labels, columns predictions; shade: share of the row")
    screen.print(" " * side + "".join(f" {_cut(name, cell, pad=True)}" for name in names))
    for name, row in zip(names, counts, strict=True):
        total = max(sum(row), 1)
        shaded = (f" {_shaded(f'{count:,}', count / total, cell)}" for count in row)
        screen.print(_cut(name, side, pad=True) + "".join(shaded))


def _sizes(confusion: Mapping[str, Any], screen: Console) -> tuple[int, int]:
    """Columns of the labels of the rows, and of a cell: of all letters of a label where there is room."""
    widest = max((len(f"{count:,}") for row in confusion["counts"] for count in row), default=0)
    longest = max(map(cell_len, confusion["labels"]), default=0)
    side = min(longest, _LABEL)
    room = (screen.width - side) // max(1, len(confusion["labels"])) - 1
    return side, max(5, widest + 2, min(longest, room))


def _fits(confusion: Mapping[str, Any], screen: Console) -> bool:
    side, cell = _sizes(confusion, screen)
    return side + (cell + 1) * len(confusion["labels"]) <= screen.width


def _shaded(number: str, share: float, width: int) -> str:
    shade = _SHADES[min(round(share * (len(_SHADES) - 1) + 0.49 * (share > 0)), len(_SHADES) - 1)]
    around = width - len(number)
    return shade * (around - around // 2) + number + shade * (around // 2)


def _confused(pairs: Sequence[Mapping[str, Any]], screen: Console, report: Mapping[str, Any]) -> None:
    if "confusion" in report and _fits(report["confusion"], screen):
        return  # they stand there
    rows = [(_cut(pair["label"], 30), _cut(pair["guessed"], 30), f"{pair['count']:,}") for pair in pairs]
    _title(screen, "Confused most often")
    print_table(screen, ("true", "predicted", "count"), rows, slice(2, 3))


def _calibration(found: Mapping[str, Any], screen: Console, report: Mapping[str, Any]) -> None:
    fitted = "not fitted" if found["temperature"] == 1 else "fitted on the validation records"
    _title(
        screen,
        f"Calibration: temperature {found['temperature']:.3g} ({fitted}), "
        f"expected error {found['expected_calibration_error']:.2%}",
    )
    rows = []
    for each in found["bins"]:
        between, count = f"{each['from']:.0%} … {each['to']:.0%}", f"{each['count']:,}"
        rows.append((between, count, f"{each['probability']:.1%}", f"{each['right']:.1%}", bar(each["right"], 20)))
    print_table(screen, ("probability", "count", "mean", "correct", ""), rows, slice(1, 4))


def _worst(rows: Sequence[Mapping[str, Any]], screen: Console, report: Mapping[str, Any]) -> None:
    _title(screen, "Most wrong" + (f": {report['quotes']}" if "quotes" in report else ""))
    for row in rows:
        named = ", ".join(f"{name} {_value(row[name])}" for name in row if name not in (*_TEXTS, *_NAMED))
        screen.print(f"[bold]{escaped(named)}[/bold]")
        for role in _TEXTS:
            if role in row:
                screen.print(f"  [dim]{escaped(row[role])}[/dim]")
        side = max((len(role) for role in _NAMED if role in row), default=0)
        for role in _NAMED:
            if role in row:
                first, *rest = wrapped(printable(row[role]), screen.width - side - 4).splitlines() or [""]
                lines = [f"  {role:<{side}}  {first}", *(" " * (side + 4) + line for line in rest)]
                screen.print("\n".join(f"[dim]{escape(line)}[/dim]" for line in lines))


def _other(name: str, value: object, screen: Console, report: Mapping[str, Any]) -> None:
    title = name.replace("_", " ")
    if isinstance(value, list) and all(isinstance(row, Mapping) for row in value):
        _title(screen, f"{title[0].upper()}{title[1:]}")
        columns = list(value[0])[:_COLUMNS]
        width = max(_COLUMN, screen.width // len(columns) - 2)
        rows = [[_cut(_value(row.get(column)), width) for column in columns] for row in value[:_ROWS]]
        print_table(screen, [_cut(column, width) for column in columns], rows)
        if len(value) > _ROWS:
            screen.print(f"{len(value) - _ROWS:,} more: --json")
    elif isinstance(value, str | int | float) and name != "quotes":
        screen.print(escaped(f"{title}: {_value(value)}"))


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _title(screen: Console, title: str) -> None:
    screen.print(f"\n[bold]{escaped(title)}[/bold]")


def _cut(text: str, width: int, *, pad: bool = False) -> str:
    """Cut a text in the middle to fit `width`, as labels often begin alike; `pad`: fill it up to the width."""
    if cell_len(text) > width:
        end = set_cell_size(text[::-1], width // 2)[::-1].lstrip()
        text = set_cell_size(text, width - 1 - cell_len(end)) + "…" + end
    return escaped(set_cell_size(text, width) if pad else text)


_PARTS: dict[str, Callable[[Any, Console, Mapping[str, Any]], None]] = {
    "labels": _labels,
    "confusion": _confusion,
    "confused": _confused,
    "calibration": _calibration,
    "worst": _worst,
}
