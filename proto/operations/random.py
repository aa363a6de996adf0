"""Random numbers: generator objects on the device and draws from them.

`random.RandomState` takes a seed (and cuRAND's number of a method), `random.<BitGenerator>` a seed,
`random.Generator` a bit generator: each makes an object. A draw takes the object, the parameters of
the distribution, the shape of the result, and where CuPy has it the keyword `dtype`.
"""

from cupool.proto.operations.operation import Operation

_LEGACY = (
    "beta binomial chisquare choice dirichlet exponential f gamma geometric gumbel hypergeometric "
    "laplace logistic lognormal logseries negative_binomial noncentral_chisquare noncentral_f "
    "normal pareto permutation poisson power randint random_sample rayleigh standard_cauchy "
    "standard_exponential standard_gamma standard_normal standard_t tomaxint triangular uniform "
    "vonmises wald weibull zipf"
).split()
_MODERN = (
    "beta binomial chisquare dirichlet f geometric hypergeometric integers logseries poisson power "
    "random standard_exponential standard_gamma standard_normal uniform"
).split()


def _maker(name: str) -> Operation:
    return Operation(f"random.{name}", "random", f"cupy.random.{name}", "", "own")


def _method(owner: str, name: str, outputs: int = 1) -> Operation:
    cupy = f"cupy.random.{owner}.{'seed' if name == 'set_seed' else name}"
    return Operation(f"random.{owner}.{name}", "random", cupy, "", "own", outputs)


OPERATIONS = (
    *(_maker(name) for name in ("RandomState", "Generator", "XORWOW", "MRG32k3a", "Philox4x3210")),
    _method("RandomState", "set_seed", 0),
    _method("RandomState", "shuffle", 0),
    *(_method("RandomState", name) for name in _LEGACY),
    *(_method("Generator", name) for name in _MODERN),
    # without an output it only advances the state
    _method("BitGenerator", "random_raw", -1),
)
