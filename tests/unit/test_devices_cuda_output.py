"""What kernels of the CUDA device print: text on the process's standard output."""

from __future__ import annotations

import ctypes
import os

import pytest

from cupool.pool_server.devices.cuda_output import MAX_BYTES, KernelOutput


def test_what_is_printed_is_taken_once(capfd: pytest.CaptureFixture[str]) -> None:
    print("before")
    output = KernelOutput()
    try:
        os.write(1, b"from the kernel\n")
        ctypes.CDLL(None).puts(b"by the C library")
        assert output.take() == "from the kernel\nby the C library\n"
        assert output.take() == ""
        os.write(1, b"more\xff\n")
        assert output.take() == "more\ufffd\n"
        os.write(1, b"x" * (MAX_BYTES + 1000))
        assert output.take() == "x" * MAX_BYTES
        assert output.take() == ""
    finally:
        output.close()
    print("after")
    assert capfd.readouterr().out == "before\nafter\n"
