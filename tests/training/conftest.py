"""Several processes that train together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.training.several import Begin


@pytest.fixture(scope="session")
def begin() -> Iterator[Begin]:
    """Begins processes in a folder, one for each of the works."""
    from tests.training.several import Group, server  # half a second; its process loads torch and trains once

    with server() as process:
        yield lambda folder, *works: Group(process, folder, works)
