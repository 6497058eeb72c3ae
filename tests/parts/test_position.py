"""Positions against the formulas of their papers, one number at a time.

S tokens · W width · D query size · H heads
"""

import math
from collections.abc import Callable

import pytest
import torch

from glassformer.config import PositionConfig, RelativeBiasConfig, RotaryConfig
from glassformer.parts.position import LAYOUTS, Learned, RelativeBias, Sinusoidal, rotary_tables, rotate, turns_of

ROUNDING = 1e-12
"""float64: an angle of up to 1000 carries 1e-13; its sine carries the same."""


def paper(position: int, index: int, width: int) -> float:
    """Vaswani et al. 2017, §3.5: PE(pos, 2i) = sin, PE(pos, 2i+1) = cos of pos / 10000^(2i/W)."""
    angle = position / 10000 ** ((index - index % 2) / width)
    return math.cos(angle) if index % 2 else math.sin(angle)


def tensor2tensor(position: int, index: int, width: int) -> float:
    """get_timing_signal_1d: sines in the first half, cosines in the second, waves 10000^(i/(n-1)) for i below n."""
    count = width // 2
    angle = position / 10000 ** ((index % count) / max(count - 1, 1))
    return math.sin(angle) if index < count else math.cos(angle)


def halves(position: int, index: int, width: int) -> float:
    """The paper's waves, sines in the first half and cosines in the second (Marian)."""
    count = width // 2
    angle = position / 10000 ** (2 * (index % count) / width)
    return math.sin(angle) if index < count else math.cos(angle)


SCALAR: dict[str, Callable[[int, int, int], float]] = {
    "paper": paper,
    "tensor2tensor": tensor2tensor,
    "halves": halves,
}


def test_each_layout_has_its_formula() -> None:
    assert set(SCALAR) == set(LAYOUTS)


@pytest.mark.parametrize("width", [2, 4, 6, 64])
@pytest.mark.parametrize("layout", SCALAR)
def test_sinusoids(layout: str, width: int) -> None:
    positions = torch.tensor([[0, 1, 2, 3, 17, 100, 1000]])
    table = LAYOUTS[layout](positions, width)  # [1, S, W]
    expected = [[SCALAR[layout](p, i, width) for i in range(width)] for p in positions[0].tolist()]
    torch.testing.assert_close(table, torch.tensor([expected], dtype=torch.float64), rtol=0, atol=ROUNDING)


def test_sinusoids_have_a_vector_for_any_position_of_any_row() -> None:
    part = Sinusoidal(PositionConfig(kind="sinusoidal", max_length=4), 6)
    rows = part(torch.tensor([[0, 1, 2], [100000, 7, 7]]), torch.float64)
    assert rows.shape == (2, 3, 6)
    assert rows[1, 0, 0].item() == pytest.approx(math.sin(100000), abs=1e-9)
    assert torch.equal(rows[1, 1], rows[1, 2])


@pytest.mark.parametrize("offset", [0, 2])
def test_learned_rows_start_after_the_offset(offset: int) -> None:
    """RoBERTa and BART keep two rows before position 0."""
    part = Learned(PositionConfig(kind="learned", max_length=5, offset=offset), 3)
    with torch.no_grad():
        part.weight.copy_(torch.arange(5 + offset)[:, None].expand(-1, 3))
    rows = part(torch.tensor([[0, 1, 4]]), torch.float32)
    assert rows[0, :, 0].tolist() == [offset, 1 + offset, 4 + offset]


@pytest.mark.parametrize("size", [2, 4, 10])
def test_rotary_turns_each_pair_by_its_angle(size: int) -> None:
    x = torch.randn(2, 3, 5, size, dtype=torch.float64)  # [B, H, S, D]
    positions = torch.tensor([[0, 1, 2, 30, 500]])
    turned = rotate(x, rotary_tables(positions, turns_of(RotaryConfig(), size)))
    half = size // 2
    for place, position in enumerate(positions[0].tolist()):
        for pair in range(half):
            angle = position / 10000 ** (2 * pair / size)
            first, second = x[1, 2, place, pair].item(), x[1, 2, place, pair + half].item()
            expected = (
                first * math.cos(angle) - second * math.sin(angle),
                second * math.cos(angle) + first * math.sin(angle),
            )
            found = turned[1, 2, place, pair].item(), turned[1, 2, place, pair + half].item()
            assert found == pytest.approx(expected, abs=ROUNDING)


def test_rotary_products_depend_on_the_distance_alone() -> None:
    """(R(m) q) · (R(n) k) is the same for every pair of places as far apart (Su et al. 2021, eq. 16)."""
    query, key = torch.randn(2, 8, dtype=torch.float64)
    tables = rotary_tables(torch.arange(200)[None], turns_of(RotaryConfig(), 8))
    queries = rotate(query.expand(1, 1, 200, 8), tables)[0, 0]  # [S, D]
    keys = rotate(key.expand(1, 1, 200, 8), tables)[0, 0]  # [S, D]
    products = queries @ keys.T  # [S, S]
    for distance in range(-199, 200):
        same = products.diagonal(distance)
        torch.testing.assert_close(same, same[:1].expand_as(same), rtol=0, atol=ROUNDING)
    assert products[0, 0].item() == pytest.approx(float(query @ key), abs=ROUNDING)
    assert abs(float(products[0, 1] - products[1, 0])) > 1e-3, "before and after must differ"


def test_rotary_keeps_lengths() -> None:
    x = torch.randn(1, 2, 50, 6, dtype=torch.float64)
    turned = rotate(x, rotary_tables(torch.arange(50)[None], turns_of(RotaryConfig(), 6)))
    torch.testing.assert_close(turned.norm(dim=-1), x.norm(dim=-1), rtol=0, atol=ROUNDING)


def bucket(distance: int, buckets: int, farthest: int, *, both_directions: bool) -> int:
    """Raffel et al. 2020: half of the buckets exact, the other half logarithmic; distance = key - query."""
    start = 0
    if both_directions:
        buckets //= 2
        if distance > 0:
            start = buckets
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = buckets // 2
    if distance < exact:
        return start + distance
    share = math.log(distance / exact) / math.log(farthest / exact)
    return start + min(exact + int(share * (buckets - exact)), buckets - 1)


@pytest.mark.parametrize("both_directions", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (8, 6), (8, 20), (4, 128)])
def test_relative_buckets(buckets: int, farthest: int, both_directions: bool) -> None:
    part = RelativeBias(RelativeBiasConfig(buckets=buckets, max_distance=farthest), 2, both_directions=both_directions)
    distances = torch.arange(-300, 301)
    expected = [bucket(d, buckets, farthest, both_directions=both_directions) for d in distances.tolist()]
    assert part.bucket(distances).tolist() == expected


def test_relative_bias_is_a_number_for_each_head_and_distance() -> None:
    part = RelativeBias(RelativeBiasConfig(buckets=8, max_distance=6), 3, both_directions=True)
    torch.nn.init.normal_(part.weight)
    bias = part(torch.tensor([[4, 5]]), torch.arange(6)[None])  # [1, H, Q, K]
    assert bias.shape == (1, 3, 2, 6)
    for head in range(3):
        for row, query in enumerate((4, 5)):
            for key in range(6):
                expected = part.weight[bucket(key - query, 8, 6, both_directions=True), head]
                assert torch.equal(bias[0, head, row, key], expected)


def test_relative_bias_only_looks_at_the_distance() -> None:
    part = RelativeBias(RelativeBiasConfig(), 2, both_directions=True)
    torch.nn.init.normal_(part.weight)
    place = torch.arange(9)[None]
    assert torch.equal(part(place, place), part(place + 100, place + 100))
