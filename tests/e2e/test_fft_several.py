"""One transform on several devices: `cupy.fft.config.use_multi_gpus` against NumPy."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.running import cupool_run

EQUAL = """
import itertools
import cupy as cp, numpy as np
from cupy.fft import config

config.use_multi_gpus = True
made = np.random.default_rng(0)
shapes, types = ((120,), (3, 5, 12), (1, 36), (1024,)), "FDe"
for gpus, shape, dtype in itertools.product(([1, 0], 4), shapes, types):
    config.set_cufft_gpus(gpus)
    a = made.random(shape)
    a = (a + 1j * made.random(shape) if dtype in "FD" else a).astype(dtype)
    for name, n, norm in itertools.product(("fft", "ifft"), (None, 36), (None, "ortho", "forward")):
        for axis in range(a.ndim):
            found = getattr(cp.fft, name)(cp.asarray(a), n=n, axis=axis, norm=norm)
            exactly = a.astype("f") if dtype == "e" else a  # NumPy's norms in float16 are coarse
            expected = getattr(np.fft, name)(exactly, n=n, axis=axis, norm=norm)
            assert found.dtype.char == ("D" if dtype == "D" else "F") and found.device.id == 0
            exact = 1e-12 if dtype == "D" else 1e-4
            np.testing.assert_allclose(found.get(), expected, rtol=exact, atol=exact)
            config.use_multi_gpus = False
            alone = getattr(cp.fft, name)(cp.asarray(a), n=n, axis=axis, norm=norm)
            config.use_multi_gpus = True
            assert found.strides == alone.strides or 1 in found.shape
print("equal")
"""

SHARED = """
import cupy as cp, numpy as np
from cupy.cuda import cufft
from cupy.fft import config
from cupyx.scipy.fftpack import get_fft_plan

a = np.random.default_rng(0).random((6, 64)).astype("F")
plan = cufft.Plan1d(64, cufft.CUFFT_C2C, 6, devices=[2, 1])
out = np.empty_like(a)
plan.fft(a, out, cufft.CUFFT_FORWARD)  # NumPy's memory, as CuPy allows
np.testing.assert_allclose(out, np.fft.fft(a), rtol=1e-4)
plan.fft(cp.asarray(a), there := cp.empty_like(out), cufft.CUFFT_INVERSE)
np.testing.assert_allclose(there.get() / 64, np.fft.ifft(a), rtol=1e-4, atol=1e-6)
with plan:
    np.testing.assert_allclose(cp.fft.fft(cp.asarray(a)).get(), np.fft.fft(a), rtol=1e-4)

config.use_multi_gpus = True
config.set_cufft_gpus([1, 2])
assert get_fft_plan(cp.asarray(a[0])).gpus == [1, 2] == config.devices
caches = []
for device in range(3):
    with cp.cuda.Device(device):
        caches.append(config.get_plan_cache())
        caches[-1].clear()
cp.fft.fft(cp.asarray(a[0]))
assert [cache.get_curr_size() for cache in caches] == [0, 1, 1]
(key, node), = caches[1]
assert node.plan is caches[2][key] and caches[1].get_curr_memsize() == 64 * 8 // 2
del caches[2][key]
assert [cache.get_curr_size() for cache in caches] == [0, 0, 0]
caches[2].set_memsize(1)
try:
    cp.fft.fft(cp.asarray(a[0]))
except RuntimeError as exc:
    print(exc)
assert [cache.get_curr_size() for cache in caches] == [0, 0, 0]
caches[2].set_memsize(-1)
for what in (lambda: cp.fft.fft(cp.zeros(13, "F")), lambda: cp.fft.rfft(cp.zeros(16, "f"))):
    try:
        what()
    except (cufft.CuFFTError, NotImplementedError) as exc:
        print(type(exc).__name__, exc)
"""


def test_it_is_equal_to_one_devices(tmp_path: Path) -> None:
    done = cupool_run(["--mock", "4", "--stats", "-c", EQUAL], tmp_path)
    assert done.stdout == "equal\n", done.stderr
    assert "from server to server" in done.stderr  # the work was shared


def test_plans_of_several_devices(tmp_path: Path) -> None:
    done = cupool_run(["--mock", "3", "-c", SHARED], tmp_path)
    assert done.returncode == 0, done.stderr
    first, second, third = done.stdout.splitlines()
    assert "plan memsize is too large for device 2" in first
    assert second == "CuFFTError CUFFT_INVALID_SIZE"
    assert third == "NotImplementedError several GPUs share complex transforms only"
