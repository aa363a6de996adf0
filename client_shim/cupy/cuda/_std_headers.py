"""Headers that NVRTC cannot read: those of the C++ standard library, and CUB as a whole.

libcu++ stands in for the standard library. Of CUB a kernel gets what works within kernels. All is
taken from the source and put before it, so that lines keep their numbers.
"""

from __future__ import annotations

import re

_INCLUDE = re.compile(
    r"^[ \t]*#[ \t]*include[ \t]*[<\"](\w+(?:\.h)?|thrust/complex\.h|cub/cub\.cuh)[>\"][^\n]*$",
    re.MULTILINE,
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
_CUB = {
    "block": "adjacent_difference discontinuity exchange histogram load merge_sort radix_rank"
    " radix_sort reduce scan shuffle store",
    "warp": "exchange load merge_sort reduce scan store",
    "thread": "load operators reduce scan store",
}
_CUB_ALWAYS = ("thread/thread_operators", "util_ptx", "util_type")
"""CUB without what runs on the host (its device-wide algorithms, which launch kernels)."""


def _cub(source: str) -> list[str]:
    """Return CUB's headers whose subject a source names: reading all of them takes a second."""
    names = [*_CUB_ALWAYS]
    for place, subjects in _CUB.items():
        for subject in subjects.split():
            if subject.replace("_", "") in source.replace("_", "").lower():
                names.append(f"{place}/{place}_{subject}")
    return [f"#include <cub/{name}.cuh>" for name in dict.fromkeys(names)]


def provide(source: str) -> str:
    """Return a source whose standard headers are those of libcu++; others are left alone."""
    wanted: dict[str, None] = {}
    thrust = cub = False

    def take(found: re.Match[str]) -> str:
        nonlocal thrust, cub
        name = found[1]
        if name == "cub/cub.cuh":
            cub = True
            return ""
        thrust |= name.startswith("thrust/")
        if name in _BUILT_IN:
            return ""
        name = _C.get(name, name)
        if name not in _CXX:
            return found[0]
        wanted[name] = None
        return ""

    text = _INCLUDE.sub(take, source)
    if not wanted and not cub:
        return text
    lines = _cub(source) if cub else []
    lines += [f"#include <cuda/std/{name}>" for name in ("cstddef", *wanted)]
    lines.append("namespace std { using namespace cuda::std; }")
    if "cstdint" in wanted:
        lines.append(_INTEGERS)
    if thrust:
        lines.append(_THRUST)
    return "\n".join([*lines, "#line 1", text])
