"""A sequence that is made when it is first read is a tuple to whoever reads it."""

import copy
import pickle
from dataclasses import asdict, dataclass, replace

import pytest

from glassformer.base.later import Due, Later


def test_it_is_made_once_when_it_is_read() -> None:
    made = list[str]()

    def items() -> list[str]:
        made.append("made")
        return ["a", "b", "c"]

    found = Later(items)
    assert not made
    assert (len(found), list(found), found[1], found[-2:]) == (3, ["a", "b", "c"], "b", ("b", "c"))
    assert made == ["made"]


@pytest.mark.parametrize("items", [(), (1,), (1, 2.5)])
def test_it_is_equal_to_a_tuple(items: tuple[float, ...]) -> None:
    def found() -> Later[float]:
        return Later(lambda: iter(items))

    assert found() == items
    assert items == found()
    assert found() == found()
    assert found() != (*items, 3)
    assert found() != [*items, 3]
    assert (hash(found()), repr(found())) == (hash(items), repr(items))
    for copied in (copy.copy(found()), copy.deepcopy(found()), pickle.loads(pickle.dumps(found()))):
        assert type(copied) is tuple
        assert copied == items


def test_what_fails_is_tried_again() -> None:
    tries = iter([None, [1]])

    def items() -> list[int]:
        found = next(tries)
        if found is None:
            raise RuntimeError
        return found

    found = Later(items)
    with pytest.raises(RuntimeError):
        len(found)
    assert found == (1,)


@dataclass(frozen=True)
class _Scored:
    name: str
    score: Due = Due()


def test_a_number_of_a_record_is_made_when_it_is_read() -> None:
    made = list[int]()

    def number(value: float) -> tuple[float]:
        made.append(1)
        return (value,)

    record = _Scored("a", Later(number, 2.5))
    assert not made
    assert (record.score, record, asdict(record)) == (2.5, _Scored("a", 2.5), {"name": "a", "score": 2.5})
    for copied in (copy.deepcopy(record), pickle.loads(pickle.dumps(record)), replace(record, name="a")):
        assert (type(copied.score), copied) == (float, record)
    assert made == [1]
    assert _Scored("b").score == 0.0
