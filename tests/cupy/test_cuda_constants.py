"""Constants of `cupy.cuda` and the names of CUDA's errors, against the values in CUDA's headers."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from cupy.cuda import device, driver, runtime

from cupool.proto import cuda_errors

ROWS = [
    tuple(row.split())
    for row in Path(__file__).with_name("cuda_headers.txt").read_text().splitlines()[1:]
]
MODULES = sorted({module for module, *_ in ROWS} - {"error", "attribute"})
NOT_IN_HEADERS = {"cusparse", "driver", "nccl"}
"""Modules with constants that CUDA 12.9 no longer has, or that CuPy alone has."""


@pytest.mark.parametrize("module", MODULES)
def test_a_constant_has_the_headers_value(module: str) -> None:
    found = importlib.import_module(f"cupy.cuda.{module}")
    rows = [(ours, int(value)) for of, ours, _, value in ROWS if of == module]
    assert {ours: getattr(found, ours) for ours, _ in rows} == dict(rows)
    if module not in NOT_IN_HEADERS:
        numbers = {
            name
            for name, value in vars(found).items()
            if type(value) is int and not name.startswith("_")
        }
        assert numbers == {ours for ours, _ in rows}  # none is left to be compared


@pytest.mark.parametrize(
    ("prefix", "text"), [("cuda", cuda_errors.runtime_text), ("CUDA_", cuda_errors.driver_text)]
)
def test_an_error_has_the_headers_name(prefix: str, text: object) -> None:
    assert callable(text)
    rows = {
        int(value): name for of, _, name, value in ROWS if of == "error" and name.startswith(prefix)
    }
    assert {code: text(code).partition(":")[0] for code in rows} == rows


def test_an_error_says_what_cuda_says() -> None:
    said = str(runtime.CUDARuntimeError(700))
    assert said == "cudaErrorIllegalAddress: an illegal memory access was encountered"
    said = str(driver.CUDADriverError(804))
    assert said.startswith("CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE: forward compatibility")
    assert str(runtime.CUDARuntimeError(12345)) == "cudaError 12345: unrecognized error code"


def test_an_attribute_has_the_headers_number() -> None:
    numbers = {name: int(value) for of, _, name, value in ROWS if of == "attribute"}
    told = device.Device().attributes
    assert len(told) > 50
    for short, value in told.items():
        assert runtime.deviceGetAttribute(numbers[f"cudaDevAttr{short}"], 0) == value
