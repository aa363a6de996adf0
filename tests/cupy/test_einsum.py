"""`cupy.einsum`: views, sums, and refusals."""

from __future__ import annotations

import cupy as cp
import numpy as np
import pytest

from tests.cupy.agreement import same
from tests.cupy.waits import waits

SHAPES = {"i": 2, "j": 3, "k": 4, "l": 5}
CASES = [
    "ij->ji",
    "ii->i",
    "ii->",
    "iji->j",
    "ij->",
    "ij->j",
    "ij,jk->ik",
    "ij,jk",
    "ij,ij->ij",
    "i,j->ij",
    "ij,kj->ik",
    "ijk,jil->kl",
    "...ij,...jk->...ik",
    "i...->...",
    "i...i->...i",
    "ij,jk,kl->il",
    "ij,jk,kl,li->",
    ",ij->ij",
]


def operands(xp, subscripts: str, dtype: str = "f8"):
    made = []
    for number, term in enumerate(subscripts.split("->")[0].split(",")):
        shape: list[int] = []
        for part in term.replace("...", "."):
            shape += [3, 2] if part == "." else [SHAPES[part]]
        values = np.arange(int(np.prod(shape)), dtype=dtype).reshape(shape) + number
        made.append(xp.asarray(values))
    return made


@pytest.mark.parametrize("subscripts", CASES)
def test_agrees_with_numpy(subscripts: str) -> None:
    same(lambda xp: xp.einsum(subscripts, *operands(xp, subscripts)), rtol=1e-10)
    same(lambda xp: xp.einsum(subscripts, *operands(xp, subscripts, "i4"), optimize=True))


def test_lists_of_axes_and_options() -> None:
    def run(xp):
        a, b = operands(xp, "ij,jk")
        path = ["einsum_path", (0, 1)]
        return [
            xp.einsum(a, [0, 1], b, [1, 2], [0, 2]),
            xp.einsum(a, [0, 1]),
            xp.einsum(a, [Ellipsis, 1], [1, Ellipsis]),
            xp.einsum("ij,jk", a, b, optimize="optimal"),
            xp.einsum("ij,jk", a, b, optimize=("greedy", 1000)),
            xp.einsum("ij,jk", a, b, optimize=path),
            xp.einsum("ij,jk", a, b, dtype="c16"),
            xp.einsum("i,i->i", xp.ones(1), xp.ones(4)),
        ]

    same(run)


def test_one_operand_without_a_sum_is_a_writable_view() -> None:
    a = cp.zeros((3, 3, 2))
    with waits() as counted:
        transposed = cp.einsum("ijk->kji", a)
        diagonal = cp.einsum("iij->ij", a)
        assert transposed.base is a and diagonal.base is a
        assert transposed.strides == a.transpose(2, 1, 0).strides
        diagonal[...] = 7
    assert counted == []
    assert a.get().sum() == 3 * 2 * 7
    assert cp.einsum("ij->", a[..., 0]).base is None


@pytest.mark.parametrize(
    ("subscripts", "count", "words"),
    [
        ("i%", 1, "invalid subscript"),
        ("i.j", 1, "not part of an ellipsis"),
        ("i...i...", 1, "not part of an ellipsis"),
        ("ij-ji", 1, "proper '->'"),
        ("ij,jk", 1, "fewer operands"),
        ("ij", 2, "more operands"),
        ("ijk", 1, "too many subscripts"),
        ("i", 1, "more dimensions than subscripts"),
        ("ij->k", 1, "never appeared"),
        ("ij->ii", 1, "multiple times"),
        ("ij,ik->", 2, None),
        ("ii", 1, "collapsing index|does not match"),
        ("i...->i", 1, "no '...'"),
    ],
)
def test_bad_subscripts(subscripts: str, count: int, words: str | None) -> None:
    arrays = [cp.ones((2, 3))] * count
    if words is None:
        arrays[1] = cp.ones((4, 3))
        words = "does not match previous terms"
    with waits() as counted, pytest.raises(ValueError, match=words):
        cp.einsum(subscripts, *arrays)
    assert counted == []


def test_unknown_options() -> None:
    a = cp.ones((2, 2))
    with pytest.raises(TypeError, match="kwargs"):
        cp.einsum("ij", a, fast=True)
    with pytest.raises(TypeError, match="path"):
        cp.einsum("ij,jk", a, a, optimize="best")
    with pytest.raises(ValueError, match="must specify"):
        cp.einsum()
    with pytest.raises(TypeError, match="int or Ellipsis"):
        cp.einsum(a, ["i", "j"])
