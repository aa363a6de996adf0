"""`cupy.ndarray.flags`."""

from __future__ import annotations

_NAMES = {
    "C_CONTIGUOUS": "c_contiguous",
    "F_CONTIGUOUS": "f_contiguous",
    "OWNDATA": "owndata",
}


class Flags:
    """Layout of an array: read-only attributes, also by NumPy's upper-case keys.

    As with CuPy's, setting others (`flags.writeable = False`) is no error, and means nothing.
    """

    __module__ = "cupy._core.flags"

    def __init__(self, c_contiguous: bool, f_contiguous: bool, owndata: bool) -> None:
        self._c_contiguous = c_contiguous
        self._f_contiguous = f_contiguous
        self._owndata = owndata

    @property
    def c_contiguous(self) -> bool:
        """The last axis varies fastest, without gaps."""
        return self._c_contiguous

    @property
    def f_contiguous(self) -> bool:
        """The first axis varies fastest, without gaps."""
        return self._f_contiguous

    @property
    def owndata(self) -> bool:
        """The array is no view of another."""
        return self._owndata

    @property
    def fnc(self) -> bool:
        """F but not C contiguous."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        """F or C contiguous."""
        return self.f_contiguous or self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        if name not in _NAMES:
            raise KeyError(f"{name} is not defined for cupy.ndarray.flags")
        return getattr(self, _NAMES[name])  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return "\n".join(f"  {name} : {self[name]}" for name in _NAMES)
