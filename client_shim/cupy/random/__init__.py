"""`cupy.random`: the functions, `RandomState`, and the Generator API."""

from typing import Any

import numpy as _numpy

from cupool.client_shim.cupy import _unsupported
from cupool.client_shim.cupy.random._bit_generator import (
    XORWOW,
    BitGenerator,
    MRG32k3a,
    Philox4x3210,
)
from cupool.client_shim.cupy.random._distributions import (
    beta,
    binomial,
    chisquare,
    dirichlet,
    exponential,
    f,
    gamma,
    geometric,
    gumbel,
    hypergeometric,
    laplace,
    logistic,
    lognormal,
    logseries,
    multivariate_normal,
    negative_binomial,
    noncentral_chisquare,
    noncentral_f,
    normal,
    pareto,
    poisson,
    power,
    rayleigh,
    standard_cauchy,
    standard_exponential,
    standard_gamma,
    standard_normal,
    standard_t,
    triangular,
    uniform,
    vonmises,
    wald,
    weibull,
    zipf,
)
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

__all__ = [
    "XORWOW",
    "BitGenerator",
    "Generator",
    "MRG32k3a",
    "Philox4x3210",
    "RandomState",
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "default_rng",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_random_state",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_integers",
    "random_sample",
    "ranf",
    "rayleigh",
    "reset_states",
    "sample",
    "seed",
    "set_random_state",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]

random = ranf = sample = random_sample


def bytes(length: int) -> Any:
    """Return random bytes; they are made on this machine by `numpy.random.bytes`, as in CuPy."""
    return _numpy.random.bytes(length)


def default_rng(seed: Any = None) -> Generator:
    """Return a `Generator` over `XORWOW`.

    Args:
        seed: see `BitGenerator`; a bit generator is wrapped, a `Generator` returned as it is.
    """
    if isinstance(seed, Generator):
        return seed
    return Generator(seed if isinstance(seed, BitGenerator) else XORWOW(seed))


_unsupported.fill(globals(), "cupy.random")
