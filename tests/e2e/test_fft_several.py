"""One transform on several devices: `cupy.fft.config.use_multi_gpus` against NumPy."""

from __future__ import annotations

from pathlib import Path

from tests.e2e.pools import WITHIN_S, a_pool
from tests.e2e.running import cupool_run

EQUAL = """
import itertools
import cupy as cp, numpy as np
from cupy.fft import config

config.use_multi_gpus = True
made = np.random.default_rng(0)
shapes, types = ((128,), (3, 5, 12), (1, 64), (1024,)), "FDe"
for gpus, shape, dtype in itertools.product(([1, 0], 4), shapes, types):
    config.set_cufft_gpus(gpus)
    a = made.random(shape)
    a = (a + 1j * made.random(shape) if dtype in "FD" else a).astype(dtype)
    for name, n, norm in itertools.product(("fft", "ifft"), (None, 64), (None, "ortho", "forward")):
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

config.set_cufft_gpus([1, 2])
assert config.devices is None and get_fft_plan(cp.asarray(a[0])).gpus is None
config.use_multi_gpus = True
assert get_fft_plan(cp.asarray(a[0])).gpus == [1, 2] == list(config.devices)
with plan:  # GPUs 2 and 1, whatever is chosen
    np.testing.assert_allclose(cp.fft.fft(cp.asarray(a)).get(), np.fft.fft(a), rtol=1e-4)
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
caches[1].set_size(0)  # it keeps none, and later does
cp.fft.fft(cp.asarray(a[0]))
assert [cache.get_curr_size() for cache in caches] == [0, 0, 1]
caches[1].set_size(16)
cp.fft.fft(cp.asarray(a[0]))
assert [cache.get_curr_size() for cache in caches] == [0, 1, 1]
"""


REFUSED = """
import cupy as cp, numpy as np
from cupy.cuda import cufft
from cupy.fft import config
from cupyx.scipy.fft import fft

x, rows = cp.ones(64, "F"), cp.ones((3, 7), "F")  # rows: an odd batch of an odd length is shared
one, two = cufft.Plan1d(64, cufft.CUFFT_C2C, 1), cufft.Plan1d(64, cufft.CUFFT_C2C, 1, devices=2)
load = "__device__ cufftComplex one(void* d, size_t i, void* c, void* s) {" \
       "return ((cufftComplex*)d)[i]; }" \
       "__device__ cufftCallbackLoadC d_loadCallbackPtr = one;"

def refused(what, *args, **kwargs):
    try:
        what(*args, **kwargs)
    except Exception as exc:
        print(type(exc).__name__, exc)
    else:
        print("nothing is refused")

refused(fft, x, plan=two)
config.use_multi_gpus = True
assert config.devices is None
np.testing.assert_array_equal(cp.fft.fft(x).get(), np.fft.fft(x.get()))  # no devices: one GPU
refused(fft, x, plan=one)
config.set_cufft_gpus(2)
cp.fft.fft(rows), cp.fft.rfft(cp.ones((0, 8))), cp.fft.rfft2(rows.real)
for kept in (16, 0):
    config.set_plan_cache_size(kept)
    refused(cp.fft.rfft, rows.real)
    refused(cp.fft.fft, cp.ones(96, "F"))
    refused(cp.fft.fft, cp.ones(32, "F"))
refused(cufft.Plan1d, 64, cufft.CUFFT_R2C, 2, devices=[0, 1])
refused(cufft.Plan1d, 1024, cufft.CUFFT_Z2Z, 1, devices=[0, 1, 2])
refused(cufft.Plan1d, 64, cufft.CUFFT_C2C, 2, devices=[0, 3])
with config.set_cufft_callbacks(cb_load=load):
    refused(cp.fft.fft, x)
"""


def test_it_is_equal_to_one_devices(tmp_path: Path) -> None:
    done = cupool_run(["--mock", "4", "--stats", "-c", EQUAL], tmp_path)
    assert done.stdout == "equal\n", done.stderr
    assert "from server to server" in done.stderr  # the work was shared


def test_plans_of_several_devices(tmp_path: Path) -> None:
    done = cupool_run(["--mock", "3", "-c", SHARED], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "plan memsize is too large for device 2" in done.stdout


def test_what_cufft_cannot_share_is_refused(tmp_path: Path) -> None:
    done = cupool_run(["--mock", "3", "-c", REFUSED], tmp_path)
    assert done.returncode == 0, done.stderr
    transforms = [
        "ValueError several GPUs share C2C and Z2Z transforms only, not R2C",
        "ValueError a single transform (batch = 1) on 2 GPUs needs a power of 2, at least 64, "
        "not 96 points",
        "ValueError a single transform (batch = 1) on 2 GPUs needs a power of 2, at least 64, "
        "not 32 points",
    ]
    assert done.stdout.splitlines() == [
        "ValueError cupy.fft.config.use_multi_gpus is False, and the plan is for GPUs [0, 1]",
        "ValueError cupy.fft.config.use_multi_gpus is True, and the plan is for one GPU",
        *transforms,
        *transforms,
        transforms[0],
        "ValueError a single transform (batch = 1) is shared by 2, 4, 8 or 16 GPUs, not 3",
        "CuFFTError CUFFT_INVALID_DEVICE",
        "NotImplementedError callbacks of cuFFT are called on one GPU only",
    ]


FILTER = """
import cupool
import cupy as cp, numpy as np
from cupy.cuda import cufft

def smoothed(signal, width):
    points = len(signal)
    kernel = np.zeros(points, signal.dtype)
    kernel[:width] = 1 / width
    product = cp.fft.fft(cp.asarray(signal)) * cp.fft.fft(cp.asarray(kernel))
    return cp.fft.ifft(product).get()

rng = np.random.default_rng(0)
signal = rng.standard_normal(4096) + 1j * rng.standard_normal(4096)
alone = smoothed(signal, 16)
cp.fft.config.use_multi_gpus = True
cp.fft.config.set_cufft_gpus([1, 0])
with cp.cuda.Device(1):  # the result is where the program is
    shared = cp.fft.fft(cp.asarray(signal))
    print(shared.device.id)
np.testing.assert_allclose(smoothed(signal, 16), alone, rtol=1e-10, atol=1e-12)

signals = rng.standard_normal((5, 100)) + 0j  # an odd batch: two rows and three
plan = cufft.Plan1d(100, cufft.CUFFT_Z2Z, 5, devices=[0, 1])
with plan:
    spectra = cp.fft.fft(cp.asarray(signals))
    again = cp.fft.ifft(spectra)
np.testing.assert_allclose(spectra.get(), np.fft.fft(signals), rtol=1e-10, atol=1e-12)
np.testing.assert_allclose(again.get(), signals, rtol=1e-10, atol=1e-12)
sizes = cp.fft.config.get_plan_cache().get_curr_size()
print(sizes, sorted({each.server for each in cupool.lease().devices}))
"""


def test_a_filter_on_two_devices_of_one_server(tmp_path: Path) -> None:
    done = cupool_run(["--mock", "2", "--stats", "-c", FILTER], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1\n2 ")  # alone, and shared
    assert "from server to server" in done.stderr


def test_a_filter_on_devices_of_two_servers(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(FILTER)
    with a_pool(one=("--mock", "1"), two=("--mock", "1")) as pool:
        script = pool.run("--gpus", "2", "--stats", "script.py", cwd=tmp_path)
        out, err = script.communicate(timeout=WITHIN_S)
    assert (out, script.returncode) == ("1\n2 ['one', 'two']\n", 0), err
    assert "from server to server" in err and "by way of this process" not in err
