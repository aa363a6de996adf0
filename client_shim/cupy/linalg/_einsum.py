"""`cupy.einsum`: subscripts are checked here; without a sum over one operand the result is a view.

Labels are ints: code points for letters, negative numbers for the axes of an ellipsis.
"""

from __future__ import annotations

import operator
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.client_shim import shadow as _shadow
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._creation.from_data import asarray

__all__ = ["einsum"]
ndarray = core.ndarray

options = {"sum_ellipsis": False, "broadcast_diagonal": False}
"""Relaxations of the rules, off by default."""

einsum_symbols = string.ascii_uppercase + string.ascii_lowercase
_ELLIPSIS = "@"
_STRAY_DOT = "einstein sum subscripts string contains a '.' that is not part of an ellipsis ('...')"


def einsum(*operands: Any, **kwargs: Any) -> ndarray:
    """Evaluate an Einstein summation.

    Args:
        operands: subscripts and arrays, ``("ij,jk->ik", a, b)``, or arrays each followed by its
            list of axes, ``(a, [0, 1], b, [1, 2], [0, 2])``.
        dtype: of the computation and the result.
        optimize: False, True, "greedy", "optimal", one of these with a memory limit, or a path of
            `numpy.einsum_path`.

    Returns:
        the sum; a view of the operand where there is one operand and nothing to sum.

    Raises:
        ValueError: bad subscripts, shapes that do not fit.
        TypeError: unknown keywords, a path that is not understood.
    """
    subscripts, output, arrays = _parse(operands)
    dtype = kwargs.pop("dtype", None)
    optimize = kwargs.pop("optimize", False)
    if kwargs:
        raise TypeError(f"Did not understand the following kwargs: {list(kwargs)}")
    made = np.result_type(*(a.dtype for a in arrays)) if dtype is None else get_dtype(dtype)
    counted = enumerate(zip(subscripts, arrays, strict=True))
    inputs = [_labels(sub, i, a.ndim) for i, (sub, a) in counted]
    sizes = _sizes(inputs, arrays)
    result = _implied(inputs) if output is None else _output(output, inputs, sizes)
    labelled = enumerate(zip(inputs, arrays, strict=True))
    diagonals = [_diagonal(i, sub, a) for i, (sub, a) in labelled]
    if len(arrays) == 1:
        labels, axes = diagonals[0]
        if set(labels) <= set(result):
            return _as_view(arrays[0], labels, axes, result)
    path = _path(optimize, len(arrays))
    text = _canonical(inputs, result)
    shape = tuple(sizes[label] for label in result)
    options = {"dtype": made, "optimize": path}
    return calls.call_one("einsum", (text, *arrays), options, shape, made)


# ------------------------------------------------------------------- reading the arguments


def _parse(args: Sequence[Any]) -> tuple[list[str], str | None, list[ndarray]]:
    """Return subscripts of the operands, of the output (None if implied), and the operands.

    An ellipsis is one character in them.
    """
    if not args:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at least"
            " one operand and its corresponding subscripts list"
        )
    if isinstance(args[0], str):
        return _parse_text(args[0], list(args[1:]))
    rest = list(args)
    operands = []
    inputs = []
    while len(rest) >= 2:
        operands.append(asarray(rest.pop(0)))
        inputs.append(_from_list(rest.pop(0)))
    return inputs, _from_list(rest[0]) if rest else None, operands


def _parse_text(text: str, operands: list[Any]) -> tuple[list[str], str | None, list[ndarray]]:
    for char in text:
        if char not in ".,-> " and char not in einsum_symbols:
            raise ValueError(
                f"invalid subscript '{char}' in einstein sum subscripts string, subscripts must be"
                " letters"
            )
    text = text.replace("...", _ELLIPSIS)
    if "." in text:
        raise ValueError(_STRAY_DOT)
    output = None
    if "-" in text or ">" in text:
        parts = text.split("->")
        if text.count("-") > 1 or text.count(">") > 1 or len(parts) != 2:
            raise ValueError(
                "einstein sum subscript string does not contain proper '->' output specified"
            )
        text, output = parts[0], parts[1].replace(" ", "")
    inputs = text.replace(" ", "").split(",")
    if len(inputs) != len(operands):
        amount = "more" if len(operands) > len(inputs) else "fewer"
        raise ValueError(
            f"{amount} operands provided to einstein sum function than specified in the subscripts"
            " string"
        )
    return inputs, output, [asarray(a) for a in operands]


def _from_list(axes: Any) -> str:
    text = ""
    for axis in axes:
        if axis is Ellipsis:
            text += _ELLIPSIS
            continue
        try:
            text += einsum_symbols[operator.index(axis)]
        except TypeError:
            raise TypeError(
                "For this input type lists must contain either int or Ellipsis"
            ) from None
    return text


def _name(label: int) -> str:
    return chr(label) if label >= 0 else f"...[{label}]"


def _labels(
    subscript: str, index: int | None, ndim: int | None = None, ellipsis_axes: int = 0
) -> list[int]:
    """Return the labels of an operand of `ndim` axes, or of the output (index and ndim None)."""
    parts = subscript.split(_ELLIPSIS)
    if len(parts) > 2:
        where = "in the output" if index is None else f"for operand {index}"
        raise ValueError(f"{_STRAY_DOT} {where}")
    if len(parts) == 1:
        if ndim is not None and len(subscript) > ndim:
            raise ValueError(
                f"einstein sum subscripts string {subscript} contains too many subscripts for"
                f" operand {index}"
            )
        if ndim is not None and len(subscript) < ndim:
            raise ValueError(
                f"operand {index} has more dimensions than subscripts string {subscript} given in"
                " einstein sum, but no '...' ellipsis provided to broadcast the extra dimensions."
            )
        return [ord(char) for char in subscript]
    left, right = parts
    if ndim is not None:
        ellipsis_axes = ndim - len(left) - len(right)
    if ellipsis_axes < 0:
        raise ValueError(
            f"einstein sum subscripts string {left}...{right} contains too many subscripts for"
            f" operand {index}"
        )
    return [*map(ord, left), *range(-ellipsis_axes, 0), *map(ord, right)]


# ------------------------------------------------------------------- labels and lengths


def _sizes(inputs: list[list[int]], arrays: list[ndarray]) -> dict[int, int]:
    """Return the length of each label; length one broadcasts."""
    sizes: dict[int, int] = {}
    for index, (labels, array) in enumerate(zip(inputs, arrays, strict=True)):
        for label, length in zip(labels, array.shape, strict=True):
            known = sizes.setdefault(label, length)
            if known == 1:
                sizes[label] = length
            elif length not in (1, known):
                raise ValueError(
                    f"Size of label '{_name(label)}' for operand {index} ({length}) does not match"
                    f" previous terms ({known})."
                )
    return sizes


def _implied(inputs: list[list[int]]) -> list[int]:
    """Return the output's labels where none are given: ellipsis axes, then what occurs once."""
    all_labels = [label for labels in inputs for label in labels]
    return [x for x in sorted(set(all_labels)) if x < 0 or all_labels.count(x) == 1]


def _output(subscript: str, inputs: list[list[int]], sizes: dict[int, int]) -> list[int]:
    ellipsis_axes = sum(label < 0 for label in sizes)
    if _ELLIPSIS not in subscript and ellipsis_axes and not options["sum_ellipsis"]:
        raise ValueError(
            "output has more dimensions than subscripts given in einstein sum, but no '...'"
            " ellipsis provided to broadcast the extra dimensions."
        )
    labels = _labels(subscript, None, ellipsis_axes=ellipsis_axes)
    for label in labels:
        if label not in sizes:
            raise ValueError(
                f"einstein sum subscripts string included output subscript '{_name(label)}' which"
                " never appeared in an input"
            )
        if labels.count(label) > 1:
            raise ValueError(
                f"einstein sum subscripts string includes output subscript '{_name(label)}'"
                " multiple times"
            )
    return labels


def _diagonal(index: int, labels: list[int], array: ndarray) -> tuple[list[int], list[list[int]]]:
    """Return an operand's distinct labels and the axes of each, which must be equally long."""
    axes: dict[int, list[int]] = {}
    for axis, label in enumerate(labels):
        axes.setdefault(label, []).append(axis)
    for label, of_label in axes.items():
        if options["broadcast_diagonal"] and len(of_label) > 1:
            of_label[:] = [axis for axis in of_label if array.shape[axis] != 1]
        lengths = [array.shape[axis] for axis in of_label]
        if len(set(lengths)) > 1:
            raise ValueError(
                f"dimensions in operand {index} for collapsing index '{_name(label)}' don't match"
                f" ({lengths[0]} != {lengths[1]})"
            )
    return list(axes), list(axes.values())


def _as_view(
    array: ndarray, labels: list[int], axes: list[list[int]], result: list[int]
) -> ndarray:
    """Return diagonals and transpositions of one operand: writable, over the same memory."""
    shadow = array._shadow
    picked = [axes[labels.index(label)] for label in result]
    shape = tuple(shadow.shape[group[0]] if group else 1 for group in picked)
    strides = tuple(sum(shadow.strides[axis] for axis in group) for group in picked)
    offset = _shadow.offset_bytes(shadow) if shadow.size else 0
    return core.view_of(array, _shadow.at(shape, shadow.dtype, offset, strides), ndarray)


def _canonical(inputs: list[list[int]], result: list[int]) -> str:
    """Write the subscripts with letters for ellipsis axes too."""
    used = {label for labels in inputs for label in labels}
    spare = iter(char for char in einsum_symbols if ord(char) not in used)
    letters = {label: chr(label) if label >= 0 else next(spare, "?") for label in sorted(used)}
    if "?" in letters.values():
        raise ValueError("too many subscripts in einsum")
    terms = ("".join(letters[label] for label in labels) for labels in inputs)
    return f"{','.join(terms)}->{''.join(letters[label] for label in result)}"


def _path(optimize: Any, count: int) -> Any:
    """Return `optimize` in a form that the device understands.

    Raises:
        TypeError: neither an algorithm nor a path.
    """
    if optimize is True:
        return "greedy"
    if optimize is False:
        return False
    if len(optimize) and optimize[0] == "einsum_path":
        return ["einsum_path", *(tuple(int(i) for i in step) for step in optimize[1:])]
    algorithm, limit = optimize, None
    if len(optimize) == 2 and isinstance(optimize[1], (int, float)):
        algorithm, limit = optimize[0], int(optimize[1])
    if not isinstance(algorithm, str) or algorithm not in ("greedy", "optimal"):
        raise TypeError(f"Did not understand the path (optimize): {optimize!s}")
    return algorithm if limit is None else (algorithm, limit)
