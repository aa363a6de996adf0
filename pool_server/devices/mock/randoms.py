"""Random generators that live on the device: NumPy's draw, CuPy's names and dtypes rule.

Values differ from a real GPU's, as they do between CuPy and NumPy; the distributions do not.
Rows of kind "random" are `random.<class>`, which make an object, and `random.<class>.<method>`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cupool.pool_server.devices.base import Layout

NpArray = np.ndarray[Any, Any]
Drawer = Callable[..., Any]

_CLASSES: dict[str, type] = {
    "RandomState": np.random.RandomState,
    "Generator": np.random.Generator,
    "BitGenerator": np.random.BitGenerator,
}
_BIT_GENERATORS: dict[str, Callable[..., np.random.BitGenerator]] = {
    "XORWOW": np.random.PCG64,
    "MRG32k3a": np.random.SFC64,
    "Philox4x3210": np.random.Philox,
}
# Parameters that CuPy converts to integers, which NumPy refuses to do.
_INTEGERS = {"binomial": 1}
# Where NumPy itself takes `dtype`; everywhere else the result is cast to what was promised.
_TAKES_DTYPE = frozenset({"randint", "integers"})
_TAKES_FLOAT_DTYPE = frozenset(
    {"random", "standard_exponential", "standard_gamma", "standard_normal"}
)


def function_for(name: str) -> Drawer:
    """Return the function of a row of kind "random"; it takes the promised layouts as `outs`.

    Raises:
        NotImplementedError: NumPy has no such generator or method.
    """
    group, _, rest = name.partition(".")
    owner, _, method = rest.partition(".")
    if group == "random" and not method:
        maker = _maker(owner)
        if maker is not None:
            return maker
    cls = _CLASSES.get(owner)
    if group != "random" or cls is None or not method or method.startswith("_"):
        raise NotImplementedError(f"the mock GPU cannot do '{name}' yet")
    own = _OWN.get(method)
    if own is None and not callable(getattr(cls, method, None)):
        raise NotImplementedError(f"the mock GPU cannot do '{name}' yet")
    return _checked(cls, own or _drawer(cls, method))


# ------------------------------------------------------------------- making generators


def _sequence(seed: Any) -> np.random.SeedSequence:
    if isinstance(seed, np.ndarray):
        seed = [int(word) & 0xFFFFFFFF for word in seed.reshape(-1)]
    return np.random.SeedSequence(abs(seed) if isinstance(seed, int) else seed)


def _maker(owner: str) -> Drawer | None:
    """Return what makes an object of a class; None if it is not known."""
    bits = _BIT_GENERATORS.get(owner)
    if bits is not None:
        return lambda seed=None, *, size=-1, outs: bits(_sequence(seed))
    if owner == "RandomState":
        return lambda seed=None, method=None, *, outs: _state(seed)
    if owner == "Generator":
        return _generator
    return None


def _state(seed: Any) -> np.random.RandomState:
    return np.random.RandomState(np.random.MT19937(_sequence(seed)))


def _generator(source: Any = None, *, outs: Any) -> np.random.Generator:
    """Make a generator of a bit generator, or of a seed."""
    if isinstance(source, np.random.BitGenerator):
        return np.random.Generator(source)
    return np.random.Generator(np.random.PCG64(_sequence(source)))


def _set_seed(generator: np.random.RandomState, seed: Any = None) -> None:
    generator.set_state(_state(seed).get_state())


# ------------------------------------------------------------------- drawing


def _checked(cls: type, function: Drawer) -> Drawer:
    def run(generator: Any, *args: Any, outs: Sequence[Layout | None], **kwargs: Any) -> Any:
        if not isinstance(generator, cls):
            raise TypeError(f"not a {cls.__name__}: {type(generator).__name__}")
        return _cast(function(generator, *args, **kwargs), outs)

    return run


def _drawer(cls: type, method: str) -> Drawer:
    bound = getattr(cls, method)
    takes = method in _TAKES_DTYPE
    takes_float = cls is np.random.Generator and method in _TAKES_FLOAT_DTYPE
    integers = _INTEGERS.get(method, 0)

    def draw(generator: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype")
        if not takes and not (takes_float and dtype in (np.float32, np.float64)):
            kwargs.pop("dtype", None)
        elif dtype is None:
            kwargs.pop("dtype", None)
        if integers:
            whole = (np.asarray(x).astype(np.int64) for x in args[:integers])
            args = (*whole, *args[integers:])
        return bound(generator, *args, **kwargs)

    return draw


def _dirichlet(generator: Any, alpha: Any, size: Any = None, dtype: Any = None) -> NpArray:
    """Normalize gamma draws over the last axis: `alpha` may have several axes, as in CuPy."""
    alpha = np.asarray(alpha, np.float64)
    shape = alpha.shape if size is None else (*size, *alpha.shape)
    drawn: NpArray = np.asarray(generator.standard_gamma(alpha, shape))
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


def _negative_binomial(
    generator: Any, n: Any, p: Any, size: Any = None, dtype: Any = None
) -> NpArray:
    """Mix Poisson draws over gamma rates, as CuPy does; `n` need not be an integer."""
    n, p = np.asarray(n, np.float64), np.asarray(p, np.float64)
    if np.any(n <= 0) or np.any(p < 0) or np.any(p > 1):
        raise ValueError("n <= 0, p < 0 or p > 1")
    return np.asarray(generator.poisson(generator.gamma(n, (1 - p) / p, size)))


def _choice(generator: Any, a: Any, size: Any, replace: bool = True, p: Any = None) -> Any:
    if isinstance(p, np.ndarray):
        p = p.astype(np.float64)
        total = p.sum()
        if np.any(p < 0):
            raise ValueError("probabilities are not non-negative")
        if not np.allclose(total, 1):
            raise ValueError("probabilities do not sum to 1")
        p = p / total
    return generator.choice(a, size, replace, p)


def _hypergeometric(
    generator: Any, ngood: Any, nbad: Any, nsample: Any, size: Any = None, dtype: Any = None
) -> Any:
    """Draw; a sample of more than there is takes all, as on a GPU."""
    good, bad, wanted = (np.asarray(x).astype(np.int64) for x in (ngood, nbad, nsample))
    return generator.hypergeometric(good, bad, np.minimum(wanted, good + bad), size)


def _logseries(generator: Any, p: Any, size: Any = None, dtype: Any = None) -> Any:
    """Draw; CuPy's RandomState refuses p = 0, which NumPy takes."""
    if isinstance(generator, np.random.RandomState) and np.any(np.asarray(p) <= 0):
        raise ValueError("p <= 0.0")
    return generator.logseries(p, size)


def _shuffle(generator: Any, a: NpArray) -> None:
    a[...] = a[generator.permutation(len(a))]


def _random_raw(generator: np.random.BitGenerator, size: Any = None, output: bool = True) -> Any:
    words = np.asarray(generator.random_raw(size))
    return (words & 0xFFFFFFFF).astype(np.uint32).view(np.int32)


_OWN: dict[str, Drawer] = {
    "choice": _choice,
    "dirichlet": _dirichlet,
    "hypergeometric": _hypergeometric,
    "logseries": _logseries,
    "negative_binomial": _negative_binomial,
    "random_raw": _random_raw,
    "set_seed": _set_seed,
    "shuffle": _shuffle,
}


def _cast(result: Any, outs: Sequence[Layout | None]) -> Any:
    if not outs or result is None:
        return result
    array = np.asarray(result)
    promised = outs[0]
    if promised is not None and array.dtype != promised.dtype:
        array = array.astype(promised.dtype)
    return array
