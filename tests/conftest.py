"""What every test starts from: one thread, fixed seeds, and the data sets where they are present."""

import gc
import logging
import os
import random
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
import torch
from torch import nn

REPOSITORY = Path(__file__).resolve().parents[1]

# pyproject.toml turns every warning into an error. What third parties warn of, and we cannot change, stands
# here, each with the reason why it is harmless to us.
THIRD_PARTY_WARNINGS = (
    # PyTorch announces that its own `torch.jit.script` will go; its compiler still decorates with it when imported.
    r"ignore:.*torch\.jit\.script.*:DeprecationWarning",
)

# When the collector is asked to leave what stays: after so many more modules (torch's compiler, Playwright), or so
# many more tests: what these have left, caches of torch and reports, grows to a third of a million objects.
FROZEN, MANY = pytest.StashKey[int](), 200
SINCE, OFTEN = pytest.StashKey[int](), 50


def pytest_configure(config: pytest.Config) -> None:
    """One thread for each process, so that parallel test workers do not fight over two cores."""
    torch.set_num_threads(1)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell has it for what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)  # children that are sent one would not end
    gc.disable()  # until the first test: modules and items that are made by then stay
    gc.set_threshold(10_000)  # then it looks less often: a training, which leaves most, calls it anyway
    for warning in THIRD_PARTY_WARNINGS:
        config.addinivalue_line("filterwarnings", warning)


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is converted for an engine is not that of another run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLASSFORMER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True, scope="session")
def _no_waits_for_the_disk() -> Iterator[None]:
    """No test cuts the power, and what a killed process has written is with the system. Other processes do wait: those
    of test_atomic.py and of the kills among them.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda handle: None)
        yield


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Modules and collected tests stay to the end: no collector needs to search them, and each training calls it."""
    stash = item.config.stash
    stash[SINCE] = stash.get(SINCE, OFTEN) + 1
    if stash[SINCE] > OFTEN or len(sys.modules) > stash[FROZEN] + MANY:
        gc.collect()
        gc.freeze()
        gc.enable()
        stash[FROZEN], stash[SINCE] = len(sys.modules), 0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test marked `sampled(n)`, n of the cases that are not long themselves run in `make test`, all others in
    `make test-long`.

    The checksums of their names decide which, so that they lie anywhere in a product of parameters.
    """
    cases: dict[tuple[str, int], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if (mark := item.get_closest_marker("sampled")) and not item.get_closest_marker("long"):
            cases[item.nodeid.partition("[")[0], mark.args[0]].append(item)
    for (_, count), of_test in cases.items():
        for item in sorted(of_test, key=lambda item: crc32(item.name.encode()))[count:]:
            item.add_marker(pytest.mark.long)


@pytest.fixture(autouse=True)
def _same_chances() -> None:
    """Each test sees the same random numbers, alone or after others."""
    random.seed(0)
    np.random.seed(0)
    torch.default_generator.manual_seed(0)  # torch.manual_seed keeps a traceback for each kind of device


@pytest.fixture
def float64() -> Iterator[None]:
    """Build and compute in double precision, so that a tolerance can be about algebra and not about rounding."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


@pytest.fixture
def shake() -> Callable[[nn.Module], None]:
    """Give every parameter a random value: fresh biases are 0 and fresh norms 1, and would hide a missing one."""

    def draw(model: nn.Module) -> None:
        generator = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in model.parameters():
                dropout_key = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                parameter.copy_(dropout_key * 0.3 + (0.0 if parameter.dim() > 1 else 0.5))

    return draw


@pytest.fixture
def logged() -> Iterator[list[logging.LogRecord]]:
    """What is logged, from INFO on. pytest's own plugin would take a twelfth of the time of all tests."""
    found: list[logging.LogRecord] = []
    handler, root, ours = logging.Handler(), logging.getLogger(), logging.getLogger("glassformer")
    handler.emit = found.append  # type: ignore[assignment,method-assign]
    root.addHandler(handler)
    ours.setLevel(logging.INFO)
    yield found
    root.removeHandler(handler)
    ours.setLevel(logging.NOTSET)


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session")
def data_directory() -> Path:
    """The real data sets: $GLASSFORMER_DATA, else `../shared/data` next to the checkout; skips where neither is."""
    given = os.environ.get("GLASSFORMER_DATA")
    directory = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    if not directory.is_dir():
        pytest.skip("the real data sets are not here: set GLASSFORMER_DATA to their folder")
    return directory


@pytest.fixture
def two_threads() -> Iterator[None]:
    """Two threads for torch."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)
