"""Kubernetes' way of writing amounts: 2, 10Gi, 500m, 4e3."""

from __future__ import annotations

import re
from fractions import Fraction

_FORM = re.compile(
    r"([+-]?(?:\d{1,30}(?:\.\d{0,30})?|\.\d{1,30}))(?:([eE][+-]?\d{1,2})|([a-zA-Z]{0,2}))"
)
_BINARY = {f"{letter}i": 1024**power for power, letter in enumerate("KMGTPE", 1)}
_DECIMAL = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_SMALL = {"m": Fraction(1, 10**3), "u": Fraction(1, 10**6), "n": Fraction(1, 10**9)}
_MIB = 1 << 20


def number(value: object) -> Fraction:
    """Read a quantity exactly.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise ValueError("must be a quantity: 2, 10Gi or 4000Mi")
    match = _FORM.fullmatch(str(value).strip())
    if match is None:
        raise ValueError("must be a quantity: 2, 10Gi or 4000Mi")
    base = Fraction(match[1])
    if match[2]:
        return base * Fraction(10) ** int(match[2][1:])
    unit = match[3] or ""
    for table in (_DECIMAL, _BINARY, _SMALL):
        if unit in table:
            return base * table[unit]
    raise ValueError(f"must be a quantity, and there is no unit {unit}")


def whole(value: object) -> int:
    """Read a quantity that counts things.

    Raises:
        ValueError: it is none, or not a whole number of at least 0.
    """
    found = number(value)
    if found.denominator != 1 or found < 0:
        raise ValueError("must be a whole number")
    return int(found)


def mib(size_bytes: int) -> str:
    """Write a size, rounded down to whole MiB, as a quantity."""
    return f"{size_bytes // _MIB}Mi"
