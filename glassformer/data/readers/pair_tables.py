"""Which columns of a table hold a source and its target."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from glassformer.base.wrapping import in_one_line
from glassformer.data.readers.parallel import SOURCE, TARGET
from glassformer.data.readers.rows import Columns, names_of
from glassformer.data.readers.table_format import TableFormat, find_format, is_number, names_columns

# By role: what the columns are called where nothing else is said, and which they are where the table does not say so.
USUAL: Mapping[str, str] = MappingProxyType({"text": SOURCE, "target": TARGET})
_NUMBERS = {"text": "0", "target": "1"}
# The most columns that a note names, and characters of a name.
_NAMED, _LONGEST = 4, 30


def pair_columns(columns: Mapping[str, Columns], path: Path) -> Mapping[str, Columns]:
    """The columns by role: those asked for, or the first two where these are the usual ones and not all are named."""
    if names_columns(path) or any(USUAL.get(role) != column for role, column in columns.items()):
        return columns
    first = find_format(path, ("0",), header=True).columns
    return columns if {*names_of(columns)} <= {*first} else {role: _NUMBERS[role] for role in columns}


def unread_told(columns: Mapping[str, Columns], format: TableFormat) -> str:
    """Which columns of a table are source and target, and which others are not read; "" where there are no others."""
    names = dict(zip(map(str, range(len(format.columns))), format.columns, strict=True))
    asked = names_of(columns)
    read = [column if column in format.columns else names.get(column, column) for column in asked]
    others = [in_one_line(column[:_LONGEST]) for column in format.columns if column not in read]
    if not others:
        return ""
    more = f" and {len(others) - _NAMED:,} more" if len(others) > _NAMED else ""
    unread = f"not read: {', '.join(others[:_NAMED])}{more}"
    if read == [USUAL[role] for role in columns]:
        return unread
    several = len(read) > 1
    which = ("columns " if several else "column ") if all(map(is_number, read)) else ""
    roles = " and ".join(USUAL[role] for role in columns)
    return f"{roles} {'are' if several else 'is'} {which}{' and '.join(read)}; {unread}"
