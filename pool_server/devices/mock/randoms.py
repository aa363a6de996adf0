"""Random generators that live on the device: NumPy's draw, CuPy's names and dtypes rule.

Values differ from a real GPU's, as they do between CuPy and NumPy; the distributions do not.
Rows of kind "random" are ``random.RandomState`` and ``random.Generator`` (make one of a seed and
the name of a bit generator), ``random.<class>.set_seed`` and ``random.<class>.<method>``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cupool.pool_server.devices.base import Layout

# Where NumPy itself takes `dtype`; everywhere else the result is cast to what was promised.
_TAKES_DTYPE = {
    np.random.RandomState: frozenset({"randint"}),
    np.random.Generator: frozenset({"integers"}),
}
_TAKES_FLOAT_DTYPE = frozenset(
    {"random", "standard_exponential", "standard_gamma", "standard_normal"}
)
_MAKERS: dict[str, Callable[[Any], Any]] = {
    "RandomState": lambda seed: np.random.RandomState(np.random.MT19937(_sequence(seed))),
    "Generator": lambda seed: np.random.Generator(np.random.Philox(_sequence(seed))),
}
_CLASSES: dict[str, type] = {
    "RandomState": np.random.RandomState,
    "Generator": np.random.Generator,
}


def function_for(name: str) -> Callable[..., Any]:
    """Return the function of a row of kind "random"; it takes the promised layouts as `outs`.

    Raises:
        NotImplementedError: NumPy has no such generator or method.
    """
    parts = name.split(".")
    owner = parts[1] if len(parts) > 1 else ""
    cls = _CLASSES.get(owner)
    if parts[0] != "random" or cls is None or len(parts) > 3:
        raise NotImplementedError(f"the mock GPU cannot do '{name}' yet")
    if len(parts) == 2:
        return _maker(_MAKERS[owner])
    method = parts[2]
    if method in ("set_seed", "seed"):
        return _set_seed
    if method in _OWN:
        return _checked(cls, _OWN[method])
    if method.startswith("_") or not callable(getattr(cls, method, None)):
        raise NotImplementedError(f"the mock GPU cannot do '{name}' yet")
    return _checked(cls, _drawer(cls, method))


def _sequence(seed: Any) -> np.random.SeedSequence:
    if isinstance(seed, np.ndarray):
        seed = [int(word) & 0xFFFFFFFF for word in seed.reshape(-1)]
    return np.random.SeedSequence(abs(seed) if isinstance(seed, int) else seed)


def _maker(make: Callable[[Any], Any]) -> Callable[..., Any]:
    def create(seed: Any = None, bit_generator: Any = None, *, outs: Any) -> Any:
        return make(seed)

    return create


def _set_seed(generator: Any, seed: Any = None, *, outs: Any) -> None:
    fresh = _MAKERS["RandomState" if isinstance(generator, np.random.RandomState) else "Generator"]
    if isinstance(generator, np.random.RandomState):
        generator.set_state(fresh(seed).get_state())
    else:
        generator.bit_generator.state = fresh(seed).bit_generator.state


def _checked(cls: type, function: Callable[..., Any]) -> Callable[..., Any]:
    def run(generator: Any, *args: Any, outs: Sequence[Layout | None], **kwargs: Any) -> Any:
        if not isinstance(generator, cls):
            raise TypeError(f"not a {cls.__name__}: {type(generator).__name__}")
        return _cast(function(generator, *args, **kwargs), outs)

    return run


def _drawer(cls: type, method: str) -> Callable[..., Any]:
    bound = getattr(cls, method)
    takes = method in _TAKES_DTYPE[cls]
    takes_float = cls is np.random.Generator and method in _TAKES_FLOAT_DTYPE

    def draw(generator: Any, *args: Any, **kwargs: Any) -> Any:
        dtype = kwargs.get("dtype")
        if not takes and not (takes_float and dtype in (np.float32, np.float64)):
            kwargs.pop("dtype", None)
        elif dtype is None:
            kwargs.pop("dtype", None)
        return bound(generator, *args, **kwargs)

    return draw


def _interval(generator: np.random.RandomState, mx: int, size: Any = None) -> Any:
    return generator.randint(0, int(mx) + 1, size, dtype=np.uint64)


def _rand(generator: np.random.RandomState, *size: int, dtype: Any = None) -> Any:
    return generator.random_sample(size or None)


def _randn(generator: np.random.RandomState, *size: int, dtype: Any = None) -> Any:
    return generator.standard_normal(size or None)


_OWN: dict[str, Callable[..., Any]] = {"interval": _interval, "rand": _rand, "randn": _randn}


def _cast(result: Any, outs: Sequence[Layout | None]) -> Any:
    if not outs or result is None:
        return result
    array = np.asarray(result)
    promised = outs[0]
    if promised is not None and array.dtype != promised.dtype:
        array = array.astype(promised.dtype)
    return array
