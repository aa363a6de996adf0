"""`cupy.random.Generator`: draws from a bit generator of the device. Nothing here waits."""

from __future__ import annotations

from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy.random._parameters import as_parameter, result_shape, shape_of

__all__ = ["Generator"]
ndarray = core.ndarray
_FLOAT = np.dtype(np.float64)
_INT = np.dtype(np.int64)


def _real(value: Any, name: str, error: type[Exception] = TypeError) -> Any:
    """Return a parameter: a device array or a float.

    Raises:
        TypeError: neither an array nor a number.
    """
    if isinstance(value, ndarray) or type(value) in (int, float):
        return value
    raise error(f"{name} is required to be a cupy.ndarray or a scalar")


class Generator:
    """Random numbers of many distributions.

    Args:
        bit_generator: `XORWOW`, `MRG32k3a` or `Philox4x3210`, made on the device to draw on.
    """

    def __init__(self, bit_generator: Any) -> None:
        self.bit_generator = bit_generator

    @property
    def bit_generator(self) -> Any:
        """The source of bits; its state advances with each draw."""
        return self._bit_generator

    @bit_generator.setter
    def bit_generator(self, value: Any) -> None:
        self._bit_generator = value
        self._object = calls.call_object("random.Generator", (value._object,))

    def _draw(
        self,
        name: str,
        parameters: tuple[Any, ...],
        shape: tuple[int, ...],
        made: np.dtype[Any],
        **kwargs: Any,
    ) -> ndarray:
        self._bit_generator._check_device()
        args = (self._object, *parameters, shape)
        return calls.call_one(f"random.Generator.{name}", args, kwargs, shape, made)

    def _float(self, name: str, size: Any, dtype: Any, out: Any, *parameters: Any) -> ndarray:
        """Draw in a dtype, and into `out` if there is one."""
        made = get_dtype(dtype)
        if out is not None:
            _check_out(made, size, out)
            size = out.shape if size is None else size
        shape = result_shape(size, parameters)
        return calls.with_out(self._draw(name, parameters, shape, made, dtype=made), out)

    # ---------------------------------------------------------------- uniform

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> ndarray:
        """Return floats from [0, 1)."""
        return self._float("random", size, dtype, out)

    def uniform(
        self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = np.float64
    ) -> ndarray:
        """Return floats from [low, high)."""
        parameters = tuple(as_parameter(x) for x in (low, high))
        shape = result_shape(size, parameters)
        made = get_dtype(dtype)
        return self._draw("uniform", parameters, shape, made, dtype=made)

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> ndarray:
        """Return integers from [low, high), or [0, low) without `high`.

        Args:
            endpoint: include the upper end.

        Raises:
            ValueError: an empty range, or one that the dtype does not hold.
        """
        made = get_dtype(dtype)
        first, last = (0, int(low)) if high is None else (int(low), int(high))
        if not endpoint:
            last -= 1
        info = np.iinfo(made)
        if first > last:
            raise ValueError("low >= high")
        if first < info.min:
            raise ValueError(f"low is out of bounds for {made.name}")
        if last > info.max:
            raise ValueError(f"high is out of bounds for {made.name}")
        shape = shape_of(size)
        args = (self._object, first, last, shape, made, True)
        self._bit_generator._check_device()
        return calls.call_one("random.Generator.integers", args, None, shape, made)

    # ---------------------------------------------------------------- continuous

    def beta(self, a: Any, b: Any, size: Any = None, dtype: Any = np.float64) -> ndarray:
        """Return draws from a beta distribution."""
        parameters = (_real(a, "a"), _real(b, "b"))
        made = get_dtype(dtype)
        return self._draw("beta", parameters, result_shape(size, parameters), made, dtype=made)

    def chisquare(self, df: Any, size: Any = None) -> ndarray:
        """Return draws from a chi-square distribution."""
        df = _real(df, "df")
        return self._draw("chisquare", (df,), result_shape(size, (df,)), _FLOAT)

    def dirichlet(self, alpha: Any, size: Any = None) -> ndarray:
        """Return draws from a Dirichlet distribution: `size` and the shape of `alpha`."""
        alpha = _real(alpha, "alpha")
        lead = None if size is None else shape_of(size)
        shape = (*(lead or ()), *(alpha.shape if isinstance(alpha, ndarray) else ()))
        self._bit_generator._check_device()
        args = (self._object, alpha, lead)
        return calls.call_one("random.Generator.dirichlet", args, None, shape, _FLOAT)

    def exponential(self, scale: Any = 1.0, size: Any = None) -> ndarray:
        """Return draws from an exponential distribution."""
        return self.standard_exponential(size) * scale  # type: ignore[no-any-return]

    def f(self, dfnum: Any, dfden: Any, size: Any = None) -> ndarray:
        """Return draws from an F distribution."""
        parameters = (_real(dfnum, "dfnum"), _real(dfden, "dfden"))
        return self._draw("f", parameters, result_shape(size, parameters), _FLOAT)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None) -> ndarray:
        """Return draws from a gamma distribution."""
        if size is None:
            size = result_shape(None, (shape, scale))
        drawn = self.standard_gamma(shape, size)
        drawn *= scale
        return drawn

    def power(self, a: Any, size: Any = None) -> ndarray:
        """Return draws from a power distribution with exponent `a - 1`."""
        a = _real(a, "a")
        return self._draw("power", (a,), result_shape(size, (a,)), _FLOAT)

    def standard_exponential(
        self,
        size: Any = None,
        dtype: Any = np.float64,
        method: str = "inv",
        out: Any = None,
    ) -> ndarray:
        """Return draws from the exponential distribution of scale 1.

        Raises:
            NotImplementedError: `method` is "zig".
        """
        if method == "zig":
            raise NotImplementedError("Ziggurat method is not supported")
        return self._float("standard_exponential", size, dtype, out)

    def standard_gamma(
        self, shape: Any, size: Any = None, dtype: Any = np.float64, out: Any = None
    ) -> ndarray:
        """Return draws from a gamma distribution of scale 1."""
        if shape is None:
            raise TypeError("shape must be real number, not NoneType")
        shape = _real(shape, "shape", ValueError)
        if out is not None:
            _check_out(get_dtype(dtype), size, out, only_c=True)
        _check_float(get_dtype(dtype), "standard_gamma")
        return self._float("standard_gamma", size, dtype, out, shape)

    def standard_normal(
        self, size: Any = None, dtype: Any = np.float64, out: Any = None
    ) -> ndarray:
        """Return draws from the normal distribution of mean 0 and deviation 1."""
        if out is not None:
            _check_out(get_dtype(dtype), size, out)
        _check_float(get_dtype(dtype), "standard_normal")
        return self._float("standard_normal", size, dtype, out)

    # ---------------------------------------------------------------- discrete

    def binomial(self, n: Any, p: Any, size: Any = None) -> ndarray:
        """Return how many of `n` trials of probability `p` succeed."""
        n = _real(n, "n")
        if not isinstance(p, ndarray) and type(p) is not float:
            raise TypeError("p is required to be a cupy.ndarray or a scalar")
        return self._draw("binomial", (n, p), result_shape(size, (n, p)), _INT)

    def geometric(self, p: Any, size: Any = None) -> ndarray:
        """Return the number of trials up to the first success."""
        p = _real(p, "p")
        return self._draw("geometric", (p,), result_shape(size, (p,)), _INT)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Any = None) -> ndarray:
        """Return how many of a sample without replacement are good.

        Raises:
            ValueError: a negative number.
        """
        named = {"ngood": ngood, "nbad": nbad, "nsample": nsample}
        for name, value in named.items():
            if type(value) in (int, float) and value < 0:
                raise ValueError(f"{name} < 0")
        parameters = tuple(_real(value, name) for name, value in named.items())
        return self._draw("hypergeometric", parameters, result_shape(size, parameters), _INT)

    def logseries(self, p: Any, size: Any = None) -> ndarray:
        """Return draws from a logarithmic series distribution."""
        p = _real(p, "p")
        return self._draw("logseries", (p,), result_shape(size, (p,)), _INT)

    def poisson(self, lam: Any = 1.0, size: Any = None) -> ndarray:
        """Return draws from a Poisson distribution."""
        lam = _real(lam, "lam")
        return self._draw("poisson", (lam,), result_shape(size, (lam,)), _INT)


def _check_float(dtype: np.dtype[Any], name: str) -> None:
    if dtype.char not in "fd":
        raise TypeError(f"Unsupported dtype {dtype.name} for {name}")


def _check_out(dtype: np.dtype[Any], size: Any, out: Any, only_c: bool = False) -> None:
    """Raise unless `out` has the dtype, is contiguous, and has the shape `size`."""
    if out.dtype.char != dtype.char:
        raise TypeError(
            f"Supplied output array has the wrong type. Expected {dtype.name}, got {out.dtype.name}"
        )
    flags = out.flags
    if not flags.c_contiguous and (only_c or not flags.f_contiguous):
        raise ValueError("Supplied output array is not contiguous, writable or aligned.")
    if size is not None and shape_of(size) != out.shape:
        raise ValueError("size must match out.shape when used together")
