"""`load`, `save`, `savez`, `savez_compressed`: NumPy's file formats on this machine's disk."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import core
from cupool.client_shim.cupy._creation.from_data import array, asnumpy

__all__ = ["load", "save", "savez", "savez_compressed"]


class NpzFile:
    """An open .npz archive: an array is read and uploaded when it is asked for.

    Attributes:
        npz_file: NumPy's object for the archive.
    """

    __module__ = "cupy._io.npz"

    def __init__(self, npz_file: Any) -> None:
        self.npz_file = npz_file

    def __enter__(self) -> NpzFile:
        self.npz_file.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.npz_file.__exit__(kind, value, traceback)

    def __getitem__(self, key: str) -> core.ndarray:
        return array(self.npz_file[key])

    def close(self) -> None:
        """Close the file."""
        self.npz_file.close()


def load(file: Any, mmap_mode: Any = None, allow_pickle: bool | None = None) -> Any:
    """Read a .npy, .npz or pickle file.

    Args:
        file: path or file object.
        allow_pickle: let the file hold pickled objects, which can run code; not by default.

    Returns:
        a device array, an `NpzFile`, or the unpickled object.

    Raises:
        OSError, ValueError: as `numpy.load`.
    """
    found = np.load(file, mmap_mode, bool(allow_pickle))
    if isinstance(found, np.ndarray):
        return array(found)
    if isinstance(found, np.lib.npyio.NpzFile):
        return NpzFile(found)
    return found


def save(file: Any, arr: Any, allow_pickle: bool | None = None) -> None:
    """Write an array to a .npy file; waits for the data."""
    np.save(file, asnumpy(arr), True if allow_pickle is None else allow_pickle)


def savez(file: Any, *args: Any, **kwds: Any) -> None:
    """Write arrays to an uncompressed .npz file; waits for the data."""
    np.savez(file, *map(asnumpy, args), **{k: asnumpy(v) for k, v in kwds.items()})


def savez_compressed(file: Any, *args: Any, **kwds: Any) -> None:
    """Write arrays to a compressed .npz file; waits for the data."""
    np.savez_compressed(file, *map(asnumpy, args), **{k: asnumpy(v) for k, v in kwds.items()})
