"""`cupy.ndarray.flags`."""

from __future__ import annotations

from typing import Any

_NAMES = {
    "C_CONTIGUOUS": "c_contiguous",
    "C": "c_contiguous",
    "CONTIGUOUS": "c_contiguous",
    "F_CONTIGUOUS": "f_contiguous",
    "F": "f_contiguous",
    "FORTRAN": "f_contiguous",
    "OWNDATA": "owndata",
    "O": "owndata",
}


class Flags:
    """Layout of an array; names and keys as NumPy's `flagsobj`, as far as CuPy has them."""

    __slots__ = ("c_contiguous", "f_contiguous", "owndata")
    __module__ = "cupy._core.flags"

    def __init__(self, c_contiguous: bool, f_contiguous: bool, owndata: bool) -> None:
        self.c_contiguous = c_contiguous
        self.f_contiguous = f_contiguous
        self.owndata = owndata

    @property
    def fnc(self) -> bool:
        """F but not C contiguous."""
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        """F or C contiguous."""
        return self.f_contiguous or self.c_contiguous

    def __getitem__(self, name: str) -> bool:
        try:
            return bool(getattr(self, _NAMES[name]))
        except KeyError:
            raise KeyError("Unknown flag") from None

    def __repr__(self) -> str:
        rows = (("C_CONTIGUOUS", "c"), ("F_CONTIGUOUS", "f"), ("OWNDATA", "owndata"))
        values: dict[str, Any] = {
            "c": self.c_contiguous,
            "f": self.f_contiguous,
            "owndata": self.owndata,
        }
        return "\n".join(f"  {name} : {values[key]}" for name, key in rows)
