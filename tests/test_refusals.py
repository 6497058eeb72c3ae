"""The judge of errors is tried itself: a value has to stand in a field whole."""

import pytest

from glassformer.base.errors import ConfigError, DataError, GlassformerError, MissingColumnError
from tests.refusals import carries, refused


@pytest.mark.parametrize(
    ("field", "value", "carried"),
    [
        ("got 3", "3", True),
        ("3, then", "3", True),
        ("13", "3", False),
        ("3.5", "3", False),
        ("-3", "3", False),
        ("1,300", "1", False),
        ("x.txt, line 2", "line 2", True),
        ("x.txt, line 21", "line 2", False),
        ("/tmp/one/x.txt", "x.txt", True),
        ("widths", "width", False),
        ("[2, 3]", "[2, 3]", True),
    ],
)
def test_a_value_stands_in_a_field_whole(field: str, value: str, carried: bool) -> None:
    assert carries(field, value) == carried


def send(error: GlassformerError) -> None:
    raise error


@pytest.mark.parametrize(
    "error",
    [
        DataError("x.txt, line 2", got="4"),  # another value
        DataError("x.txt, line 3", got="3"),  # another line
        DataError("3", got="x.txt, line 2"),  # the other field
        MissingColumnError("x.txt, line 2", got="3"),  # a subclass
    ],
)
def test_another_error_is_not_taken_for_the_one_expected(error: DataError) -> None:
    with refused(DataError, wanted="x.txt, line 2", got="3"):
        send(DataError("x.txt, line 2 must hold two columns", got="3"))
    with pytest.raises(AssertionError), refused(DataError, wanted="x.txt, line 2", got="3"):
        send(error)
    with pytest.raises(ConfigError), refused(DataError, wanted="x.txt, line 2", got="3"):
        send(ConfigError("x.txt, line 2", got="3"))


def test_a_command_to_be_completed_keeps_its_ellipsis() -> None:
    assert str(DataError("a.", got="b;", do="glassformer fill --model MODEL ...")).endswith("--model MODEL ...")
    assert str(DataError("a.", got="b;")) == "a; got b"
