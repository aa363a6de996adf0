"""Sparse matrices on the CUDA device, whose CuPy is our own shim on a second, mock pool."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.pools import WITHIN_S, a_pool
from tests.e2e.test_pool_behind_pool import start_outer_server

SCRIPT = """
import numpy as np
import cupy as cp
from cupyx import cusparse
from cupyx.scipy import sparse
from cupyx.scipy.sparse import linalg

d = np.array([[0, 4.0, 1], [2, 0, 0], [0, 3, 5]])
a = sparse.csr_matrix(cp.asarray(d))

def same(x, y):
    x = x.toarray() if sparse.issparse(x) else x
    return bool(np.allclose(x.get(), y))

print(a.nnz, a.has_canonical_format, same(a, d), same(a.T.tocsr(), d.T), same(a.tocoo(), d))
print(same(a @ cp.ones(3), d.sum(1)), same(a.T @ cp.ones((3, 2)), np.stack([d.sum(0)] * 2, 1)))
print(same(a @ a, d @ d), same(a + a.T, d + d.T), same(a - a.T, d - d.T))
print(same(a.multiply(a), d * d))
print(same(a > a.T, d > d.T), same(a != a.T, d != d.T), same(a <= 2, d <= 2))
print(same(a.maximum(a.T), np.maximum(d, d.T)), same(a.minimum(-a), np.minimum(d, -d)))
print(same(a[1:, ::2], d[1:, ::2]), same(a[:, [2, 0]], d[:, [2, 0]]), float(a[0, 1]))
print(same(a.max(axis=0), d.max(0)), a.argmin(axis=1).ravel().tolist(), a.diagonal().tolist())
b = a.copy()
b[0, 0], b[2, 2] = 7, 0
b.eliminate_zeros()
print(b.nnz, same(b, [[7, 4, 1], [2, 0, 0], [0, 3, 0]]))
b[:2] = a[1:]
print(same(b, [[2, 0, 0], [0, 3, 5], [0, 3, 0]]))
two = cp.array([1, 0, 1], dtype="i")
coo = sparse.coo_matrix((cp.ones(3), (two, two)), shape=(2, 2))
print(coo.tocsr().toarray().tolist(), coo.tocsc().nnz)
coo.sum_duplicates()
print(coo.nnz, same(sparse.eye(3, k=1).tocsr(), np.eye(3, k=1)))
u = sparse.csr_matrix((cp.array([1.0, 2, 3]), cp.array([1, 0, 1], "i"), cp.array([0, 2, 3], "i")))
print(u.has_sorted_indices)
u.sort_indices()
print(u.indices.tolist(), u.has_canonical_format)
print(same(linalg.spsolve(a, cp.ones(3)), np.linalg.solve(d, np.ones(3))))
low = sparse.tril(a + sparse.eye(3)).tocsr()
x = linalg.spsolve_triangular(low, cp.ones(3))
print(same(low @ x, np.ones(3)))
whole = sparse.csr_matrix(cp.asarray(d + 9))
f = whole.copy()
cusparse.csrilu02(f)
l, u = np.tril(f.toarray().get(), -1) + np.eye(3), np.triu(f.toarray().get())
print(np.allclose(l @ u, d + 9))
try:
    cusparse.csrilu02(a.copy())
except ValueError as exc:
    print(exc)
"""
EXPECTED = """\
5 True True True True
True True
True True True
True
True True True
True True
True True 4.0
True [0, 1, 0] [0.0, 0.0, 5.0]
5 True
True
[[1.0, 0.0], [0.0, 2.0]] 2
2 True
False
[0, 1, 1] True
True
True
True
a(0,0) is missing
"""


def test_every_operation_on_sparse_matrices_runs_on_the_cuda_device(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    with a_pool(inner=("--mock", "1")) as inner, a_pool() as outer:
        start_outer_server(outer, inner)
        script = outer.run("script.py", cwd=tmp_path)
        out, err = script.communicate(timeout=WITHIN_S)
        assert (out, script.returncode) == (EXPECTED, 0), err
