"""Headers of the C++ standard library, which NVRTC lacks: libcu++ stands in for them.

What a source includes of them is taken from it and put before it, so that lines keep their numbers.
"""

from __future__ import annotations

import re

_INCLUDE = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*<(\w+(?:\.h)?|thrust/complex\.h)>[^\n]*$", re.MULTILINE
)
_CXX = frozenset(
    "array atomic bit cassert cfloat chrono climits cmath complex concepts cstddef cstdint cstdlib"
    " ctime functional initializer_list iterator limits numeric optional ratio span tuple"
    " type_traits utility variant".split()
)
_C = {"stdint.h": "cstdint", "limits.h": "climits", "float.h": "cfloat", "assert.h": "cassert"}
_C |= {"stddef.h": "cstddef", "thrust/complex.h": "complex"}
_BUILT_IN = frozenset("cstdio cstring math.h stdio.h stdlib.h string.h time.h".split())
"""NVRTC knows what device code can use of these without a header."""
_INTEGERS = "".join(
    f"using cuda::std::{sign}int{kind}_t;"
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
    for kind in (bits, f"_least{bits}", f"_fast{bits}")
) + "".join(f"using cuda::std::{name}_t;" for name in ("intmax", "uintmax", "intptr", "uintptr"))
_THRUST = (
    "namespace thrust { "
    + "".join(
        f"using cuda::std::{name}; "
        for name in "complex abs arg norm conj polar proj exp log log10 pow sqrt sin cos tan sinh"
        " cosh tanh asin acos atan asinh acosh atanh".split()
    )
    + "}"
)
"""Thrust's own complex numbers need headers that NVRTC lacks."""


def provide(source: str) -> str:
    """Return a source whose standard headers are those of libcu++; others are left alone."""
    wanted: dict[str, None] = {}
    thrust = False

    def take(found: re.Match[str]) -> str:
        nonlocal thrust
        name = found[1]
        thrust |= name.startswith("thrust/")
        if name in _BUILT_IN:
            return ""
        name = _C.get(name, name)
        if name not in _CXX:
            return found[0]
        wanted[name] = None
        return ""

    text = _INCLUDE.sub(take, source)
    if not wanted:
        return text
    lines = [f"#include <cuda/std/{name}>" for name in ("cstddef", *wanted)]
    lines.append("namespace std { using namespace cuda::std; }")
    if "cstdint" in wanted:
        lines.append(_INTEGERS)
    if thrust:
        lines.append(_THRUST)
    return "\n".join([*lines, "#line 1", text])
