"""Float types as numpy arrays."""

import numpy as np
import pytest
from affine_convert.errors import ConvertError
from affine_convert.floats import decode, doubled, encode, from_bfloat16, to_bfloat16


def finite_bfloat16() -> np.ndarray:
    bits = np.arange(1 << 16, dtype=np.uint16)
    return bits[np.isfinite(from_bfloat16(bits))]


def test_every_bfloat16_survives_a_round_trip():
    bits = finite_bfloat16()
    assert np.array_equal(to_bfloat16(from_bfloat16(bits)), bits)


def test_rounding_is_to_nearest_with_ties_to_even():
    values = np.array([0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF], np.uint32).view(np.float32)
    assert to_bfloat16(values).tolist() == [0x3F80, 0x3F82, 0x3F81, 0x3F80]


def test_infinity_and_nan_stay_what_they_are():
    again = from_bfloat16(to_bfloat16(np.array([np.inf, -np.inf, np.nan], np.float32)))
    assert again[0] == np.inf and again[1] == -np.inf and np.isnan(again[2])
    noisy_nan = np.array([0x7FFFFFFF], np.uint32).view(np.float32)
    assert np.isnan(from_bfloat16(to_bfloat16(noisy_nan)))[0]


def test_doubling_is_exact_for_every_bfloat16_below_half_of_the_largest():
    bits = finite_bfloat16()
    values = from_bfloat16(bits).astype(np.float64)
    small = np.abs(values) < 2.0**127
    again = from_bfloat16(doubled(bits[small], "BF16", "w")).astype(np.float64)
    assert np.array_equal(again, 2 * values[small])


@pytest.mark.parametrize("dtype", ["F32", "F16"])
def test_doubling_is_exact_in_other_types(dtype):
    values = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    stored = encode(values, dtype)
    assert np.array_equal(decode(doubled(stored, dtype, "w"), dtype), 2 * decode(stored, dtype))


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F32"])
def test_doubling_refuses_overflow_by_name(dtype):
    largest = {"F16": 65504.0, "BF16": 3.3e38, "F32": 3.3e38}[dtype]
    with np.errstate(over="ignore"), pytest.raises(ConvertError, match="w holds values"):
        doubled(encode(np.array([largest], np.float32), dtype), dtype, "w")
