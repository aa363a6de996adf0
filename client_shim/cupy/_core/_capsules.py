"""DLPack's capsules: made by NumPy of an array's shadow, relabelled, and taken back.

A capsule holds a pointer to a C structure that lives until its deleter is called: by whoever
consumed it, or by the capsule if nobody did. Both may happen while an exception is under way,
where no Python code may run; so the structure and its deleter are NumPy's.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from cupool.client_shim import shadow
from cupool.proto.bfloat16 import bfloat16, is_bfloat16

CPU, CUDA, ELSEWHERE, MANAGED = 1, 2, 9, 13
"""DLPack's device types. What lies on a pool's device is shown as ELSEWHERE (DLPack's kDLVPI, which
no library serves): its address is true there, and a library of this machine that took it for its
own GPU's would crash. kDLExtDev would not do: PyTorch hands it to what registered itself there."""
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
_KINDS = {_INT: "i", _UINT: "u", _FLOAT: "f", _COMPLEX: "c", _BOOL: "b"}
_IS_COPIED = 2
_MAX_DIMENSIONS = 64


class _Device(ctypes.Structure):
    _fields_ = (("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _Versioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_STRUCTURES: dict[bytes, Any] = {b"dltensor": _Managed, b"dltensor_versioned": _Versioned}
# A capsule keeps the address of its name, so names must never move.
_USED = {name: ctypes.create_string_buffer(b"used_" + name) for name in _STRUCTURES}
_api = ctypes.pythonapi
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_IsValid", _api)
)
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", _api)
)
_set_name = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)(
    ("PyCapsule_SetName", _api)
)


class _Region(ctypes.c_char * shadow.REGION_BYTES):  # type: ignore[misc]
    """The shadows' region as a buffer that keeps an array alive."""

    owner: Any


class Shown(NamedTuple):
    """What a capsule shows: `strides` in bytes, None for C order.

    `release` must be called once nobody looks at the memory any more.
    """

    address: int
    device: tuple[int, int]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...] | None
    release: Callable[[], object]


def host_capsule(host: np.ndarray[Any, Any], versioned: bool) -> Any:
    """Return a capsule of a host array, which is a copy of its device's."""
    capsule = _shown(host).__dlpack__(**_version(versioned))
    name, structure = _structure(capsule)
    made = structure.from_address(_pointer(capsule, name))
    if structure is _Versioned:
        made.flags |= _IS_COPIED
    _name_dtype(made.tensor, host.dtype)
    return capsule


def device_capsule(owner: Any, address: int, ordinal: int, versioned: bool) -> Any:
    """Return a capsule of an array on a device, which is kept until the consumer is done.

    Raises:
        BufferError: DLPack has no such dtype.
    """
    region = _Region.from_address(shadow.START)
    region.owner = owner
    laid = owner._shadow
    begin = shadow.offset_bytes(laid) if laid.size else 0
    carrier = np.ndarray(laid.shape, laid.dtype, region, begin, laid.strides)
    capsule = _shown(carrier).__dlpack__(**_version(versioned))
    name, structure = _structure(capsule)
    tensor = structure.from_address(_pointer(capsule, name)).tensor
    tensor.data, tensor.byte_offset = address, 0
    tensor.device = _Device(ELSEWHERE, ordinal)
    _name_dtype(tensor, carrier.dtype)
    return capsule


def _shown(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return what NumPy can show of an array: of bfloat16 it shows the bits."""
    return array.view(np.uint16) if is_bfloat16(array.dtype) else array


def _name_dtype(tensor: _Tensor, dtype: np.dtype[Any]) -> None:
    if is_bfloat16(dtype):
        tensor.dtype.code = _BFLOAT


def _version(versioned: bool) -> dict[str, Any]:
    return {"max_version": (1, 0)} if versioned else {}


def _structure(capsule: Any) -> tuple[bytes, Any]:
    """Return the name and the structure of a capsule that nobody has consumed.

    Raises:
        ValueError: somebody has, or it is none.
    """
    for name, structure in _STRUCTURES.items():
        if _is_valid(capsule, name):
            return name, structure
    raise ValueError(
        "A DLPack tensor object cannot be consumed multiple times (or object was not a DLPack"
        f" capsule). Got: {capsule!r}"
    )


def take(capsule: Any) -> Shown:
    """Consume a capsule.

    Raises:
        ValueError: it was consumed before, or is none.
        BufferError, TypeError: a version or dtype that is not known.
    """
    name, structure = _structure(capsule)
    address = _pointer(capsule, name)
    made = structure.from_address(address)
    if structure is _Versioned and made.major > 1:
        raise BufferError("DLPack exported too new major version.")
    tensor = made.tensor
    if not 0 <= tensor.ndim <= _MAX_DIMENSIONS:
        raise ValueError(f"a DLPack tensor of {tensor.ndim} dimensions")
    dtype = _dtype(tensor.dtype)
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = None
    if tensor.strides:
        strides = tuple(tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim))
    _set_name(capsule, ctypes.addressof(_USED[name]))
    deleter = made.deleter
    return Shown(
        (tensor.data or 0) + tensor.byte_offset,
        (tensor.device.device_type, tensor.device.device_id),
        shape,
        dtype,
        strides,
        (lambda: deleter(address)) if deleter else (lambda: None),
    )


def _dtype(told: _DataType) -> np.dtype[Any]:
    if told.lanes != 1:
        raise ValueError(f"vector dtypes (lanes={told.lanes}) is not supported")
    if told.code == _BFLOAT:
        try:
            return bfloat16()
        except ModuleNotFoundError:
            raise NotImplementedError(
                "CuPy does not support bfloat16. Please install ml_dtypes to use bfloat16."
            ) from None
    kind = _KINDS.get(told.code)
    if kind is None:
        raise TypeError(f"Unsupported dtype. dtype code: {told.code}")
    try:
        return np.dtype(f"{kind}{told.bits // 8}")
    except TypeError:
        raise TypeError(f"{told.bits} bits of kind {kind!r} are not supported.") from None
