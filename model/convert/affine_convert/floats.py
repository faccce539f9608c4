"""Float types of checkpoints as numpy arrays. A bfloat16 value is kept as its 16 bits, uint16."""

import numpy as np

from affine_convert.errors import ConvertError

#: numpy type that holds one stored element, by the safetensors name of the type.
STORAGE = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2"), "BF16": np.dtype("<u2")}

#: safetensors name by the name that config.json uses.
SAFETENSORS_NAME = {"float32": "F32", "float16": "F16", "bfloat16": "BF16"}


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """float32 of any shape to bfloat16 bits of the same shape, to nearest, ties to even."""
    bits = np.ascontiguousarray(values, dtype="<f4").view("<u4")
    rounded = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
    quiet_nan = (bits >> np.uint32(16)) | np.uint32(0x40)  # rounding could turn a NaN to infinity
    return np.where(np.isnan(values), quiet_nan, rounded).astype("<u2")


def from_bfloat16(bits: np.ndarray) -> np.ndarray:
    """bfloat16 bits of any shape to float32 of the same shape, exactly."""
    return (np.ascontiguousarray(bits).astype("<u4") << np.uint32(16)).view("<f4")


def encode(values: np.ndarray, dtype: str) -> np.ndarray:
    """float32 to the storage of `dtype` (F32, F16, BF16)."""
    return to_bfloat16(values) if dtype == "BF16" else values.astype(STORAGE[dtype])


def decode(stored: np.ndarray, dtype: str) -> np.ndarray:
    """The storage of `dtype` to float32, exactly."""
    return from_bfloat16(stored) if dtype == "BF16" else stored.astype("<f4")


def doubled(stored: np.ndarray, dtype: str, name: str) -> np.ndarray:
    """Twice the values, in the same storage, exactly; `name` is for the error on overflow."""
    twice = decode(stored, dtype) * np.float32(2)
    again = encode(twice, dtype)
    if not np.array_equal(decode(again, dtype), twice) or not np.isfinite(twice).all():
        raise ConvertError(
            f"{name} holds values that {dtype} cannot hold doubled. Allowed are finite ones "
            "below half of its largest. Convert the checkpoint to bfloat16 or float32 first."
        )
    return again
