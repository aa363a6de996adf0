"""Each example prints on a pool the figures that it prints on NumPy, and writes the same picture.

The examples are plain CuPy scripts. For the figures to compare with, the same script runs with
NumPy under the name of cupy (the folder `numpy_as_cupy`), in a process of its own.
"""

import importlib.util
import math
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parents[1] / "examples"
NUMPY = HERE / "numpy_as_cupy"
NEEDED = {"sklearn": "scikit-learn", "skimage": "scikit-image", "PIL": "pillow"}
TIMEOUT_S = 60

missing = [name for module, name in NEEDED.items() if importlib.util.find_spec(module) is None]
needs_examples = pytest.mark.skipif(
    bool(missing), reason=f"needs {', '.join(missing)}: pip install 'cupool[examples]'"
)

Figures = dict[str, float]


@dataclass(frozen=True)
class Example:
    """An example, and how close its figures are to come.

    Attributes:
        picture: it writes a PNG with --out.
        rtol: relative difference allowed; single precision needs more.
        atol: absolute difference allowed, for figures for which rtol says nothing.
        simulated: Monte Carlo estimates. The pool's device may draw other random numbers than
            NumPy, so each has to come as near as its own error, NAME_error, allows.
        options: of cupool.
        without_kernels: the script's arguments for the same by array functions; NumPy has none.
    """

    name: str
    picture: bool = False
    rtol: float = 1e-6
    atol: dict[str, float] = field(default_factory=dict)
    simulated: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    without_kernels: tuple[str, ...] = ()


ALL = [
    Example("black_scholes", simulated=("call", "put", "asian")),
    Example("conjugate_gradient", picture=True, atol={"residual": 1e-6}),
    Example("fft_filter", picture=True),
    Example("heat_equation", picture=True),
    Example("kmeans"),
    Example("mandelbrot", picture=True, without_kernels=("--arrays",)),
    Example("pca"),
    Example("three_gpus", options=("--mock", "3")),
    Example(
        "two_layer_network",
        rtol=1e-3,
        atol={"train_accuracy": 0.005, "test_accuracy": 0.01},
    ),
]


def run(command: list[str], folder: Path, **variables: str) -> str:
    """What the command prints to its output; it must succeed."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CUPOOL_")}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=inherited | variables,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, f"{command} exits with {done.returncode}:\n{done.stderr}"
    return done.stdout


def on_numpy(script: Path, arguments: list[str], folder: Path, **variables: str) -> str:
    variables.setdefault("PYTHONPATH", str(NUMPY))
    return run([str(script), *arguments], folder, **variables)


def on_pool(script: Path, arguments: list[str], folder: Path, options: tuple[str, ...]) -> str:
    return run(["-m", "cupool", "run", *options, str(script), *arguments], folder)


def read_figures(printed: str) -> Figures:
    pairs = [line.split(": ") for line in printed.splitlines()]
    return {name: float(value) for name, value in pairs}


def assert_figures_agree(example: Example, pool: Figures, numpy: Figures) -> None:
    assert list(pool) == list(numpy)
    for name, expected in numpy.items():
        if name in example.simulated:
            error = math.hypot(pool[f"{name}_error"], numpy[f"{name}_error"])
            assert abs(pool[name] - expected) < 4 * error, name
        elif name.removesuffix("_error") in example.simulated:
            assert pool[name] == pytest.approx(expected, rel=0.1), name
        else:
            atol = example.atol.get(name, 1e-12)
            assert pool[name] == pytest.approx(expected, rel=example.rtol, abs=atol), name


def assert_same_picture(pool: Path, numpy: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    with image.open(pool) as one, image.open(numpy) as other:
        assert (one.size, one.mode) == (other.size, other.mode)
        difference = np.abs(np.asarray(one, dtype=int) - np.asarray(other, dtype=int))
    assert difference.max() <= 1


def arguments_of(example: Example, picture: Path) -> list[str]:
    return ["--out", str(picture)] if example.picture else []


def test_every_example_is_tested() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == [e.name for e in ALL]


@pytest.mark.parametrize("example", ALL, ids=lambda example: example.name)
def test_example_knows_nothing_of_cupool(example: Example) -> None:
    text = (EXAMPLES / f"{example.name}.py").read_text()
    assert "cupool" not in text.lower()
    assert text.count("import cupy as cp\n") == 1


@needs_examples
@pytest.mark.parametrize("example", ALL, ids=lambda example: example.name)
def test_pool_prints_what_numpy_prints(example: Example, tmp_path: Path) -> None:
    script = EXAMPLES / f"{example.name}.py"
    ours, theirs = tmp_path / "pool.png", tmp_path / "numpy.png"
    if example.without_kernels:
        pytest.importorskip("llvmlite", reason="pip install 'cupool[mock-kernels]'")
    plain = [*arguments_of(example, theirs), *example.without_kernels]
    numpy = read_figures(on_numpy(script, plain, tmp_path))
    pool = read_figures(on_pool(script, arguments_of(example, ours), tmp_path, example.options))
    assert_figures_agree(example, pool, numpy)
    if example.picture:
        assert_same_picture(ours, theirs)


@needs_examples
def test_simulated_prices_agree_with_the_formula(tmp_path: Path) -> None:
    figures = read_figures(on_pool(EXAMPLES / "black_scholes.py", [], tmp_path, ()))
    for name in ("call", "put"):
        off = abs(figures[name] - figures[f"{name}_exact"])
        assert off < 4 * figures[f"{name}_error"]


@needs_examples
def test_three_gpus_make_do_with_one(tmp_path: Path) -> None:
    script = EXAMPLES / "three_gpus.py"
    numpy = read_figures(on_numpy(script, [], tmp_path, NUMPY_AS_CUPY_DEVICES="1"))
    assert read_figures(on_pool(script, [], tmp_path, ("--mock", "1"))) == numpy
