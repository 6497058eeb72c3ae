"""Values that are made when they are first read."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar, overload

Item = TypeVar("Item", covariant=True)


class Later(Sequence[Item]):
    """What `made` gives for `of`, asked for once; equal to a tuple of the same items, and copied or pickled as one.

    Answers of many texts have several each: one object and a tuple, because Python's garbage collector visits every
    object, and a function with what it closes over has four.
    """

    __slots__ = ("_found", "_made", "_of")

    def __init__(self, made: Callable[..., Iterable[Item]], *of: object) -> None:
        self._made: Callable[..., Iterable[Item]] | None = made
        self._of, self._found = of, ()

    _found: tuple[Item, ...]

    @property
    def whole(self) -> tuple[Item, ...]:
        """All items."""
        made = self._made
        if made is not None:
            self._found = tuple(made(*self._of))
            self._made = None  # only after the line above: another thread may read too
        return self._found

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        return self.whole[place]

    def __len__(self) -> int:
        return len(self.whole)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.whole)

    def __eq__(self, other: object) -> bool:
        return self.whole == (other.whole if isinstance(other, Later) else other)

    def __hash__(self) -> int:
        return hash(self.whole)

    def __repr__(self) -> str:
        return repr(self.whole)

    def __reduce__(self) -> tuple[object, ...]:
        return tuple, (self.whole,)


class Due:
    """A number in a dataclass, 0 by default. It may be the only item of a `Later`: computed when it is read."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.kept = f"_{name}"

    def __get__(self, record: object, owner: type | None = None) -> float:
        given: float | Sequence[float] = 0.0 if record is None else getattr(record, self.kept)
        return given[0] if isinstance(given, Sequence) else given  # a tuple, where it was copied

    def __set__(self, record: object, given: float | Later[float]) -> None:
        object.__setattr__(record, self.kept, given)  # of a frozen one; its __dict__ would be one object more
