"""Special functions (`cupyx.scipy.special`), and `cupyx.rsqrt`.

Operations are called ``scipy.special.NAME``. The mock calls SciPy's function of that name, with
inputs in the precision of CuPy's loop (`mock/adapters/special.py`).
"""

from cupool.proto.operations.operation import Operation

_UFUNCS = (
    "bdtr bdtrc bdtri beta betainc betaincinv betaln binom boxcox boxcox1p cbrt chdtr chdtrc "
    "chdtri cosdg cosm1 cotdg digamma ellipeinc ellipk ellipkinc ellipkm1 entr erf erfc erfcinv "
    "erfcx erfinv exp1 exp10 exp2 expi expit expm1 expn exprel fdtr fdtrc fdtri gamma gammainc "
    "gammaincc gammainccinv gammaincinv gammaln gammasgn gdtr gdtrc huber i0 i0e i1 i1e inv_boxcox "
    "inv_boxcox1p j0 j1 k0 k0e k1 k1e kl_div log1p log_expit log_ndtr loggamma logit lpmv nbdtr "
    "nbdtrc nbdtri ndtr ndtri pdtr pdtrc pdtri poch pseudo_huber radian rel_entr rgamma sindg "
    "tandg wright_bessel xlog1py xlogy y0 y1 yn zeta zetac"
).split()
_SEVERAL_RESULTS = {"ellipj": 4, "shichi": 2, "sici": 2}
_FUNCTIONS = "lambertw log_softmax polygamma softmax sph_harm_y spherical_yn".split()


def _row(name: str, kind: str, outputs: int = 1) -> Operation:
    rule = "ufunc" if kind == "ufunc" else "own"
    cupy = f"cupyx.scipy.special.{name}"
    return Operation(f"scipy.special.{name}", kind, cupy, "", rule, outputs)  # type: ignore[arg-type]


OPERATIONS: tuple[Operation, ...] = (
    *(_row(name, "ufunc") for name in _UFUNCS),
    *(_row(name, "ufunc", outputs) for name, outputs in _SEVERAL_RESULTS.items()),
    *(_row(name, "function") for name in _FUNCTIONS),
    # two results with return_sign
    _row("logsumexp", "function", -1),
    Operation("rsqrt", "ufunc", "cupyx.rsqrt", "", "ufunc"),
)
