"""`cupy.random`: the functions, `RandomState`, and the Generator API."""

import numpy as _numpy

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.random import (
    _bit_generator,
    _distributions,
    _generator,
    _generator_api,
    _permutations,
    _sample,
)
from cupool.client_shim.cupy.random._bit_generator import (
    XORWOW,
    BitGenerator,
    MRG32k3a,
    Philox4x3210,
)
from cupool.client_shim.cupy.random._distributions import *  # noqa: F403
from cupool.client_shim.cupy.random._generator import (
    RandomState,
    get_random_state,
    reset_states,
    seed,
    set_random_state,
)
from cupool.client_shim.cupy.random._generator_api import Generator
from cupool.client_shim.cupy.random._permutations import permutation, shuffle
from cupool.client_shim.cupy.random._sample import (
    choice,
    multinomial,
    rand,
    randint,
    randn,
    random_integers,
    random_sample,
)

random = ranf = sample = random_sample


def bytes(length):  # type: ignore[no-untyped-def]  # noqa: A001, ANN001, ANN201
    """Return random bytes; they are made on this machine by `numpy.random.bytes`, as in CuPy."""
    return _numpy.random.bytes(length)


def default_rng(seed=None):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN201
    """Return a `Generator` over `XORWOW`.

    Args:
        seed: see `BitGenerator`; a bit generator is wrapped, a `Generator` returned as it is.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, BitGenerator) else XORWOW(seed))


_unsupported.fill(globals(), "cupy.random")
__all__ = [name for name in globals() if not name.startswith("_")]
