"""The distributions of `cupy.random.RandomState`; each draw is one record and does not wait,
unless CuPy's own judges values that are on the device.

Parameters are numbers or arrays that broadcast; `size` is the shape of the result, by default that
of the parameters; `dtype` its type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cupool.client_shim.cupy._core import calls, core
from cupool.client_shim.cupy._core._dtype import get_dtype
from cupool.client_shim.cupy.random._parameters import (
    as_parameter,
    reject,
    result_shape,
    shape_of,
)

__all__ = ["Distributions", "check_and_get_dtype"]
ndarray = core.ndarray


def check_and_get_dtype(dtype: Any) -> np.dtype[Any]:
    """Return float32 or float64.

    Raises:
        TypeError: any other dtype; cuRAND fills no other.
    """
    made: np.dtype[Any] = np.dtype(dtype)
    if made.char not in ("f", "d"):
        raise TypeError("cupy.random only supports float32 and float64")
    return made


class Distributions:
    """Part of `RandomState`."""

    _object: calls.DeviceObject

    def _draw(
        self, name: str, parameters: Sequence[Any], size: Any, dtype: np.dtype[Any]
    ) -> ndarray:
        """Queue a draw of parameters that are checked."""
        sent = tuple(as_parameter(p) for p in parameters)
        shape = result_shape(size, sent)
        args = (self._object, *sent, shape)
        operation = f"random.RandomState.{name}"
        return calls.call_one(operation, args, {"dtype": dtype}, shape, dtype)

    def _judged_draw(
        self, name: str, parameters: Sequence[Any], size: Any, dtype: np.dtype[Any]
    ) -> ndarray:
        """Draw where CuPy judges the parameters' values: those on the device cost a wait, as there.

        Raises:
            ValueError: a value on the device is bad.
        """
        drawn = self._draw(name, parameters, size, dtype)
        if any(isinstance(p, ndarray) for p in parameters):
            core.session_of(drawn).synchronize()
        return drawn

    # ---------------------------------------------------------------- continuous, any dtype

    def beta(self, a: Any, b: Any, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from a beta distribution."""
        return self._draw("beta", (a, b), size, get_dtype(dtype))

    def chisquare(self, df: Any, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from a chi-square distribution."""
        return self._draw("chisquare", (df,), size, get_dtype(dtype))

    def dirichlet(self, alpha: Any, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from a Dirichlet distribution: `size` and the shape of `alpha`."""
        alpha = as_parameter(alpha)
        made = get_dtype(dtype)
        lead = None if size is None else shape_of(size)
        shape = (*(lead or ()), *(alpha.shape if isinstance(alpha, ndarray) else ()))
        args = (self._object, alpha, lead)
        name = "random.RandomState.dirichlet"
        return calls.call_one(name, args, {"dtype": made}, shape, made)

    def f(self, dfnum: Any, dfden: Any, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from an F distribution."""
        return self._draw("f", (dfnum, dfden), size, get_dtype(dtype))

    def gamma(self, shape: Any, scale: Any = 1.0, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from a gamma distribution."""
        return self._draw("gamma", (shape, scale), size, get_dtype(dtype))

    def logistic(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = float
    ) -> ndarray:
        """Return draws from a logistic distribution."""
        return self._draw("logistic", (loc, scale), size, get_dtype(dtype))

    def noncentral_chisquare(
        self, df: Any, nonc: Any, size: Any = None, dtype: Any = float
    ) -> ndarray:
        """Return draws from a noncentral chi-square distribution.

        Raises:
            ValueError: df <= 0, nonc < 0.
        """
        reject(df, lambda x: x <= 0, "df <= 0")
        reject(nonc, lambda x: x < 0, "nonc < 0")
        return self._judged_draw("noncentral_chisquare", (df, nonc), size, get_dtype(dtype))

    def noncentral_f(
        self, dfnum: Any, dfden: Any, nonc: Any, size: Any = None, dtype: Any = float
    ) -> ndarray:
        """Return draws from a noncentral F distribution.

        Raises:
            ValueError: dfnum <= 0, dfden <= 0, nonc < 0.
        """
        reject(dfnum, lambda x: x <= 0, "dfnum <= 0")
        reject(dfden, lambda x: x <= 0, "dfden <= 0")
        reject(nonc, lambda x: x < 0, "nonc < 0")
        return self._judged_draw("noncentral_f", (dfnum, dfden, nonc), size, get_dtype(dtype))

    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from a gamma distribution of scale 1."""
        return self._draw("standard_gamma", (shape,), size, get_dtype(dtype))

    def standard_t(self, df: Any, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from Student's t distribution."""
        return self._draw("standard_t", (df,), size, get_dtype(dtype))

    def vonmises(self, mu: Any, kappa: Any, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from a von Mises distribution."""
        return self._draw("vonmises", (mu, kappa), size, get_dtype(dtype))

    # ---------------------------------------------------------------- float32 and float64 only

    def exponential(self, scale: Any = 1.0, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from an exponential distribution.

        Raises:
            ValueError: scale < 0.
        """
        made = check_and_get_dtype(dtype)
        reject(scale, lambda x: x < 0, "scale < 0")
        return self._judged_draw("exponential", (scale,), size, made)

    def gumbel(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = float
    ) -> ndarray:
        """Return draws from a Gumbel distribution."""
        return self._draw("gumbel", (loc, scale), size, check_and_get_dtype(dtype))

    def laplace(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = float
    ) -> ndarray:
        """Return draws from a Laplace distribution."""
        return self._draw("laplace", (loc, scale), size, check_and_get_dtype(dtype))

    def lognormal(
        self, mean: Any = 0.0, sigma: Any = 1.0, size: Any = None, dtype: Any = float
    ) -> ndarray:
        """Return draws whose logarithms are normal."""
        return self._draw("lognormal", (mean, sigma), size, check_and_get_dtype(dtype))

    def normal(
        self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None, dtype: Any = float
    ) -> ndarray:
        """Return draws from a normal distribution."""
        return self._draw("normal", (loc, scale), size, check_and_get_dtype(dtype))

    def pareto(self, a: Any, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from a Pareto II (Lomax) distribution."""
        return self._draw("pareto", (a,), size, check_and_get_dtype(dtype))

    def power(self, a: Any, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from a power distribution with exponent `a - 1`.

        Raises:
            ValueError: a < 0.
        """
        made = check_and_get_dtype(dtype)
        reject(a, lambda x: x < 0, "a < 0")
        return self._judged_draw("power", (a,), size, made)

    def random_sample(self, size: Any = None, dtype: Any = float) -> ndarray:
        """Return floats from [0, 1)."""
        return self._draw("random_sample", (), shape_of(size), check_and_get_dtype(dtype))

    def rand(self, *size: int, **kwarg: Any) -> ndarray:
        """Return floats from [0, 1) in an array of the lengths given; keyword `dtype`."""
        return self.random_sample(size, _only_dtype("rand", kwarg))

    def randn(self, *size: int, **kwarg: Any) -> ndarray:
        """Return standard normal draws in an array of the lengths given; keyword `dtype`."""
        return self.normal(size=size, dtype=_only_dtype("randn", kwarg))

    def rayleigh(self, scale: Any = 1.0, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from a Rayleigh distribution.

        Raises:
            ValueError: scale < 0.
        """
        made = check_and_get_dtype(dtype)
        reject(scale, lambda x: x < 0, "scale < 0")
        return self._judged_draw("rayleigh", (scale,), size, made)

    def standard_cauchy(self, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from the Cauchy distribution of mode 0 and scale 1."""
        return self._draw("standard_cauchy", (), shape_of(size), check_and_get_dtype(dtype))

    def standard_exponential(self, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from the exponential distribution of scale 1."""
        return self._draw("standard_exponential", (), shape_of(size), check_and_get_dtype(dtype))

    def standard_normal(self, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from the normal distribution of mean 0 and deviation 1."""
        return self.normal(size=size, dtype=dtype)

    def triangular(
        self, left: Any, mode: Any, right: Any, size: Any = None, dtype: Any = float
    ) -> ndarray:
        """Return draws from a triangular distribution.

        Raises:
            ValueError: not left <= mode <= right, left == right.
        """
        hosts = not any(isinstance(x, ndarray) for x in (left, mode, right))
        if hosts:
            first, middle, last = np.asarray(left), np.asarray(mode), np.asarray(right)
            reject(first, lambda x: x > middle, "left > mode")
            reject(middle, lambda x: x > last, "mode > right")
            reject(first, lambda x: x == last, "left == right")
        return self._judged_draw(
            "triangular", (left, mode, right), size, check_and_get_dtype(dtype)
        )

    def uniform(
        self, low: Any = 0.0, high: Any = 1.0, size: Any = None, dtype: Any = float
    ) -> ndarray:
        """Return floats from [low, high)."""
        return self._draw("uniform", (low, high), size, check_and_get_dtype(dtype))

    def wald(self, mean: Any, scale: Any, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from a Wald (inverse Gaussian) distribution."""
        return self._draw("wald", (mean, scale), size, check_and_get_dtype(dtype))

    def weibull(self, a: Any, size: Any = None, dtype: Any = float) -> ndarray:
        """Return draws from a Weibull distribution of scale 1.

        Raises:
            ValueError: a < 0.
        """
        made = check_and_get_dtype(dtype)
        reject(a, lambda x: x < 0, "a < 0")
        return self._judged_draw("weibull", (a,), size, made)

    # ---------------------------------------------------------------- discrete

    def binomial(self, n: Any, p: Any, size: Any = None, dtype: Any = int) -> ndarray:
        """Return how many of `n` trials of probability `p` succeed."""
        return self._draw("binomial", (n, p), size, get_dtype(dtype))

    def geometric(self, p: Any, size: Any = None, dtype: Any = "l") -> ndarray:
        """Return the number of trials up to the first success."""
        return self._draw("geometric", (p,), size, get_dtype(dtype))

    def hypergeometric(
        self, ngood: Any, nbad: Any, nsample: Any, size: Any = None, dtype: Any = "l"
    ) -> ndarray:
        """Return how many of a sample without replacement are good.

        Raises:
            ValueError: ngood < 0, nbad < 0, nsample < 1.
        """
        named = (("ngood", ngood, 0), ("nbad", nbad, 0), ("nsample", nsample, 1))
        for name, value, least in named:
            if isinstance(value, (int, float)) and value < least:
                raise ValueError(f"{name} < {least}")
        return self._draw("hypergeometric", (ngood, nbad, nsample), size, get_dtype(dtype))

    def logseries(self, p: Any, size: Any = None, dtype: Any = "l") -> ndarray:
        """Return draws from a logarithmic series distribution.

        Raises:
            ValueError: not 0 < p < 1.
        """
        reject(p, lambda x: x <= 0, "p <= 0.0")
        reject(p, lambda x: x >= 1, "p >= 1.0")
        return self._judged_draw("logseries", (p,), size, get_dtype(dtype))

    def negative_binomial(self, n: Any, p: Any, size: Any = None, dtype: Any = int) -> ndarray:
        """Return how many failures come before `n` successes.

        Raises:
            ValueError: n <= 0, not 0 <= p <= 1.
        """
        reject(n, lambda x: x <= 0, "n <= 0")
        reject(p, lambda x: x < 0, "p < 0")
        reject(p, lambda x: x > 1, "p > 1")
        return self._judged_draw("negative_binomial", (n, p), size, get_dtype(dtype))

    def poisson(self, lam: Any = 1.0, size: Any = None, dtype: Any = "l") -> ndarray:
        """Return draws from a Poisson distribution."""
        return self._draw("poisson", (lam,), size, get_dtype(dtype))

    def zipf(self, a: Any, size: Any = None, dtype: Any = int) -> ndarray:
        """Return draws from a Zipf distribution.

        Raises:
            ValueError: a <= 1.
        """
        reject(a, lambda x: x <= 1.0, "'a' must be a valid float > 1.0")
        return self._judged_draw("zipf", (a,), size, get_dtype(dtype))


def _only_dtype(name: str, keywords: dict[str, Any]) -> Any:
    dtype = keywords.pop("dtype", float)
    if keywords:
        raise TypeError(f"{name}() got unexpected keyword arguments {', '.join(keywords)}")
    return dtype
