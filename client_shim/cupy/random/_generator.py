"""`RandomState`, and the one of each device behind the functions of `cupy.random`."""

from __future__ import annotations

import atexit
import hashlib
import os
import warnings
from math import prod
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from cupool.client_shim import session as _session
from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy._core.products import dot
from cupool.client_shim.cupy._creation.from_data import array, asarray
from cupool.client_shim.cupy.random._parameters import as_parameter, result_shape, shape_of
from cupool.client_shim.cupy.random._state_distributions import (
    Distributions,
    check_and_get_dtype,
)

__all__ = ["RandomState", "get_random_state", "reset_states", "seed", "set_random_state"]
ndarray = core.ndarray
_check_and_get_dtype = check_and_get_dtype
_INT64 = np.dtype(np.int64)
_METHODS = (100, 101, 121, 141, 142, 161)
"""cuRAND's numbers of its pseudo-random generators; 100 is its default."""


def _seed_number(seed: Any) -> int:
    """Return a seed as an int of 64 bits; None gives entropy of the system, arrays are hashed.

    Raises:
        TypeError: not an integer.
        ValueError: out of range.
    """
    if seed is None:
        return int.from_bytes(os.urandom(8), "big")
    if isinstance(seed, np.ndarray):
        digest = hashlib.md5(np.ascontiguousarray(seed).tobytes(), usedforsecurity=False)
        return int(digest.hexdigest()[:16], 16)
    if isinstance(seed, ndarray):
        seed = seed.get()
    host = np.asarray(seed)
    if host.dtype.kind not in "biu":
        raise TypeError("Seed must be an integer.")
    number = int(host)
    if not 0 <= number < 1 << 64:
        raise ValueError("Seed must be an integer between 0 and 2**64 - 1")
    return number


class RandomState(Distributions):
    """Random numbers with a state on the current device.

    Args:
        seed: an int, a NumPy array, or None for entropy of the system.
        method: cuRAND's number of a generator, as `cupy.cuda.curand.CURAND_RNG_PSEUDO_XORWOW`.
    """

    def __init__(self, seed: Any = None, method: int | None = None) -> None:
        if method is not None and method not in _METHODS:
            raise ValueError(f"{method!r} is not a pseudo-random generator of cuRAND")
        self.method = 100 if method is None else method
        number = _seed_number(seed)
        args = (number,) if method is None else (number, int(method))
        self._object = calls.call_object("random.RandomState", args)

    def seed(self, seed: Any = None) -> None:
        """Start over from a seed; see `RandomState`."""
        calls.call_into("random.RandomState.set_seed", (self._object, _seed_number(seed)))

    # ---------------------------------------------------------------- integers

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> ndarray:
        """Return integers from [low, high), or [0, low) without `high`.

        Args:
            low, high: ints, or arrays that broadcast.

        Raises:
            ValueError: an empty range, or one that the dtype does not hold.
        """
        made = get_dtype(dtype)
        if isinstance(low, (ndarray, np.ndarray, list, tuple)):
            bounds = (low,) if high is None else (low, high)
            sent = tuple(as_parameter(x) for x in bounds)
            shape = result_shape(size, sent)
            first, last = (*sent, None) if high is None else sent
        else:
            first, last = (0, int(low)) if high is None else (int(low), int(high))
            shape = shape_of(size)
            info = np.iinfo(made)
            if first >= last:
                raise ValueError("low >= high")
            if first < info.min:
                raise ValueError(f"low is out of bounds for {made.name}")
            if last - 1 > info.max:
                raise ValueError(f"high is out of bounds for {made.name}")
        args = (self._object, first, last, shape, made)
        return calls.call_one("random.RandomState.randint", args, None, shape, made)

    def tomaxint(self, size: Any = None) -> ndarray:
        """Return integers from 0 to the largest of int64."""
        shape = shape_of(size)
        args = (self._object, shape)
        return calls.call_one("random.RandomState.tomaxint", args, None, shape, _INT64)

    def _interval(self, mx: Any, size: Any) -> ndarray:
        """Return unsigned integers from 0 to `mx`, which may be an array."""
        shape = shape_of(size)
        if isinstance(mx, ndarray):
            if mx.dtype.char not in "ilILqQ":
                raise ValueError(f"dtype must be integer, got: {mx.dtype}")
            wide = np.dtype(np.uint32 if mx.dtype.itemsize == 4 else np.uint64)
            args = (self._object, mx.astype(wide) + 1, None, shape, wide)
            return calls.call_one("random.RandomState.randint", args, None, shape, wide)
        mx = int(mx)
        if mx < 0:
            raise ValueError(f"mx must be non-negative (actual: {mx})")
        if mx >= 1 << 64:
            raise ValueError(f"mx must be within uint64 range (actual: {mx})")
        return self.randint(0, mx + 1, shape, np.uint32 if mx < 1 << 32 else np.uint64)

    # ---------------------------------------------------------------- samples and permutations

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> ndarray:
        """Return a sample of a vector, or of `range(a)`.

        Args:
            a: one axis, or an int.
            size: shape of the result, needed.
            replace: whether an item may be taken more than once.
            p: probabilities of the items; those of a device array are checked there, with a wait.

        Raises:
            ValueError: bad arguments.
            NotImplementedError: `size` None, `p` without replacement, a 0-d array.
        """
        if a is None:
            raise ValueError("a must be 1-dimensional or an integer")
        if isinstance(a, ndarray) and a.ndim == 0:
            raise NotImplementedError("choice() of a 0-d array is not supported")
        if isinstance(a, int):
            length, made = a, _INT64
            if length < 0:
                raise ValueError("a must be greater than or equal to 0")
        else:
            a = asarray(a)
            if a.ndim != 1:
                raise ValueError("a must be 1-dimensional or an integer")
            length, made = len(a), a.dtype
        judged = isinstance(p, ndarray)
        p = _probabilities(p, length)
        if size is None:
            raise NotImplementedError("choice() without specifying size is not supported yet")
        shape = shape_of(size)
        count = prod(shape)
        if length == 0 and count > 0:
            raise ValueError("a cannot be empty unless no samples are taken")
        if not replace:
            if p is not None:
                raise NotImplementedError("choice() with p and without replacement")
            if length < count:
                raise ValueError("Cannot take a larger sample than population when 'replace=False'")
        args = (self._object, a, shape, bool(replace), p)
        drawn = calls.call_one("random.RandomState.choice", args, None, shape, made)
        if judged:  # CuPy waits for the probabilities, too
            core.session_of(drawn).synchronize()
        return drawn

    def shuffle(self, a: Any) -> None:
        """Reorder an array along its first axis, in place.

        Raises:
            TypeError: not a device array, or a 0-d one.
        """
        if not isinstance(a, ndarray):
            raise TypeError("The array must be cupy.ndarray")
        if a.ndim == 0:
            raise TypeError("An array whose ndim is 0 is not supported")
        calls.call_into("random.RandomState.shuffle", (self._object, a))

    def permutation(self, a: Any) -> ndarray:
        """Return a reordered copy along the first axis, or a permutation of `range(a)`."""
        if isinstance(a, int):
            shape: tuple[int, ...] = shape_of((a,))
            made = _INT64
        else:
            len(a)
            if not isinstance(a, ndarray):
                raise TypeError(f"a must be a cupy.ndarray or an int, not {type(a)}")
            shape, made = a.shape, a.dtype
        args = (self._object, a)
        return calls.call_one("random.RandomState.permutation", args, None, shape, made)

    # ---------------------------------------------------------------- multivariate

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "ignore",
        tol: float = 1e-08,
        method: str = "cholesky",
        dtype: Any = float,
    ) -> ndarray:
        """Return draws from a normal distribution of several variables.

        Args:
            mean: shape (N,).
            cov: shape (N, N), positive definite.
            size: shape before the N of the result.
            check_valid: "ignore", or "warn" or "raise" where `cov` is not valid (costs waits).
            tol: of that check.
            method: "cholesky", "eigh" or "svd".

        Raises:
            ValueError: bad shapes or words.
            LinAlgError: `cov` is not positive definite, under "raise".
        """
        mean, cov = asarray(mean, dtype=dtype), asarray(cov, dtype=dtype)
        if mean.ndim != 1:
            raise ValueError("mean must be 1 dimensional")
        if cov.ndim != 2 or cov.shape[0] != cov.shape[1]:
            raise ValueError("cov must be 2 dimensional and square")
        if mean.shape[0] != cov.shape[0]:
            raise ValueError("mean and cov must have same length")
        if method not in ("eigh", "svd", "cholesky"):
            raise ValueError("method must be one of {'eigh', 'svd', 'cholesky'}")
        if check_valid not in ("ignore", "warn", "raise"):
            raise ValueError("check_valid must equal 'warn', 'raise', or 'ignore'")
        factor = _covariance_factor(cov, check_valid, tol, method)
        count = mean.shape[0]
        shape = (*shape_of(size), count)
        drawn = self.standard_normal(shape, dtype=dtype).reshape(-1, count)
        result: ndarray = dot(factor, drawn.T).T + mean
        return result.reshape(shape)  # type: ignore[no-any-return]


def _probabilities(p: Any, length: int) -> Any:
    """Check the probabilities of `choice` and return them as a device array."""
    if p is None:
        return None
    if not isinstance(p, ndarray):
        host = np.asarray(p)
        if host.ndim == 1 and len(host) == length:
            if np.any(host < 0):
                raise ValueError("probabilities are not non-negative")
            if not np.allclose(host.sum(), 1):
                raise ValueError("probabilities do not sum to 1")
        p = array(host)
    if p.ndim != 1:
        raise ValueError("p must be 1-dimensional")
    if len(p) != length:
        raise ValueError("a and p must have same size")
    return p


def _covariance_factor(cov: ndarray, check_valid: str, tol: float, method: str) -> ndarray:
    """Return F of `F @ F.T == cov`."""
    from cupool.client_shim.cupyx._ufunc_config import errstate

    if check_valid == "ignore":
        return _factor(cov, method)[0]
    try:
        with errstate(linalg="raise"):
            if check_valid == "raise":
                return _factor(cov, method)[0]
            return _factor(cov, "cholesky")[0]
    except LinAlgError:
        if check_valid == "raise":
            raise LinAlgError(
                "Matrix is not positive definite; if matrix is positive-semidefinite, set"
                "'check_valid' to 'warn'"
            ) from None
    with errstate(linalg="ignore"):
        factor, spectrum = _factor(cov, method)
        if method == "cholesky":
            text = "covariance is not positive-semidefinite, output *is* invalid."
            warnings.warn(text, RuntimeWarning, stacklevel=4)
        elif bool((spectrum < -tol).any() if method == "eigh" else not _is_valid(cov, tol)):
            text = "covariance is not positive-semidefinite, output may be invalid."
            warnings.warn(text, RuntimeWarning, stacklevel=4)
    return factor


def _factor(cov: ndarray, method: str) -> tuple[ndarray, Any]:
    from cupool.client_shim.cupy import linalg
    from cupool.client_shim.cupy._core import _operators

    if method == "cholesky":
        return linalg.cholesky(cov), None
    if method == "eigh":
        spectrum, vectors = linalg.eigh(cov)
    else:
        vectors, spectrum, _ = linalg.svd(cov)
    ufuncs = _operators.ufuncs
    factor: ndarray = vectors * ufuncs.sqrt(ufuncs.absolute(spectrum))
    return factor, spectrum


def _is_valid(cov: ndarray, tol: float) -> bool:
    """Return whether singular values give a matrix back, as only those of a valid one do."""
    from cupool.client_shim.cupy import linalg

    _, spectrum, vh = linalg.svd(cov)
    return bool(np.allclose(dot(vh.T * spectrum, vh).get(), cov.get(), rtol=tol, atol=tol))


# ------------------------------------------------------------------- the device's own


_random_states: dict[int, RandomState] = {}


@atexit.register
def reset_states() -> None:
    """Forget the states of all devices: the next draw makes a new one, with a new seed."""
    global _random_states
    _random_states = {}


_session.on_reset(reset_states)


def get_random_state() -> RandomState:
    """Return the state of the current device; the first one is seeded by CUPY_SEED, if set."""
    device = _session.current.device
    state = _random_states.get(device)
    if state is None:
        given = os.getenv("CUPY_SEED")
        state = RandomState(None if given is None else np.uint64(int(given)))
        state = _random_states.setdefault(device, state)
    return state


def set_random_state(rs: Any) -> None:
    """Set the state of the current device.

    Raises:
        TypeError: not a `RandomState`.
    """
    if not isinstance(rs, RandomState):
        raise TypeError(f"Random state must be an instance of RandomState. Actual: {type(rs)}")
    _random_states[_session.current.device] = rs


def seed(seed: Any = None) -> None:
    """Start the current device's state over from a seed."""
    get_random_state().seed(seed)
