"""Tensors of the runtime as numpy arrays.

numpy has no bf16. A bf16 tensor becomes a float32 array, which holds all of its values. A float32
array for a bf16 port is rounded to nearest even.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from . import errors
from .types import Array, TensorType

RawTensor = tuple[str, tuple[int, ...], npt.NDArray[np.uint8]]

_DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f16": np.float16,
    "f64": np.float64,
    "i8": np.int8,
    "u8": np.uint8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "bool": np.bool_,
}


def dtype_of(element: str) -> Any:
    """Returns the numpy type of an element type: float32 for "bf16"."""
    return np.dtype(_DTYPES["f32" if element == "bf16" else element])


def to_array(raw: RawTensor) -> Array:
    """Returns a tensor of the extension as an array that owns its memory."""
    element, shape, data = raw
    if element == "bf16":
        wide = data.view(np.uint16).astype(np.uint32) << 16
        return wide.view(np.float32).reshape(shape)
    array: Array = data.view(_DTYPES[element]).reshape(shape)
    return array


def _round_to_bf16(values: npt.NDArray[np.float32]) -> npt.NDArray[np.uint16]:
    bits = values.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    # A NaN stays one, also if only its low bits are set.
    nan = (bits >> 16) | 0x40
    return np.where(np.isnan(values), nan, rounded).astype(np.uint16)


def from_array(value: npt.ArrayLike, port: TensorType) -> RawTensor:
    """Returns the tensor of a port from an array or nested lists.

    Raises InvalidArgumentError for another shape, for whole numbers that the element type cannot
    hold, and for types that differ by numpy's rule "same_kind" (float64 to float32 is allowed,
    float32 to int32 is not).
    """
    name = port.name
    try:
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise errors.InvalidArgumentError(
            f"{name}: expected an array of the shape {list(port.shape)}, got none ({error})"
        ) from None
    dtype = dtype_of(port.element)
    if array.dtype.kind in "iu" and dtype.kind in "iu" and array.size:
        info = np.iinfo(dtype)
        if array.min() < info.min or array.max() > info.max:
            raise errors.InvalidArgumentError(
                f"{name}: expected values of {info.min} to {info.max}, "
                f"got {array.min()} to {array.max()}")
    is_list = not isinstance(value, (np.ndarray, np.generic))
    if is_list and array.dtype.kind in "iu" and dtype.kind in "iuf":
        array = array.astype(dtype)
    if not np.can_cast(array.dtype, dtype, "same_kind"):
        raise errors.InvalidArgumentError(f"{name}: expected {dtype}, got {array.dtype}")
    if array.shape != port.shape:
        raise errors.InvalidArgumentError(
            f"{name}: expected the shape {list(port.shape)}, got {list(array.shape)}")
    array = np.ascontiguousarray(array, dtype=dtype)
    data: Array = _round_to_bf16(array) if port.element == "bf16" else array
    return port.element, port.shape, data.reshape(-1).view(np.uint8)
