"""What a mock GPU says of itself, by the numbers of CUDA's cudaDeviceAttr.

Limits are those that CUDA's programming guide gives for compute capabilities 8.0 and 9.0; what
only hardware has (texture units, clocks' effects, NVLink) is 0.
"""

from __future__ import annotations

from typing import Any

_FIXED = {
    1: 1024,  # MaxThreadsPerBlock
    2: 1024,
    3: 1024,
    4: 64,  # MaxBlockDimX, Y, Z
    5: 2**31 - 1,
    6: 65535,
    7: 65535,  # MaxGridDimX, Y, Z
    8: 48 << 10,  # MaxSharedMemoryPerBlock
    9: 64 << 10,  # TotalConstantMemory
    10: 32,  # WarpSize
    11: 2**31 - 1,  # MaxPitch
    12: 65536,  # MaxRegistersPerBlock
    13: 1_000_000,  # ClockRate, kHz
    14: 512,  # TextureAlignment
    15: 1,  # GpuOverlap
    16: 1,  # MultiProcessorCount
    19: 1,  # CanMapHostMemory
    31: 1,  # ConcurrentKernels
    36: 1_000_000,  # MemoryClockRate, kHz
    37: 64,  # GlobalMemoryBusWidth, bits
    38: 4 << 20,  # L2CacheSize
    39: 2048,  # MaxThreadsPerMultiProcessor
    40: 1,  # AsyncEngineCount
    41: 1,  # UnifiedAddressing
    78: 1,  # StreamPrioritiesSupported
    79: 1,
    80: 1,  # GlobalL1CacheSupported, LocalL1CacheSupported
    81: 164 << 10,  # MaxSharedMemoryPerMultiprocessor
    82: 65536,  # MaxRegistersPerMultiprocessor
    83: 1,  # ManagedMemory
    87: 2,  # SingleToDoublePrecisionPerfRatio
    90: 1,  # ComputePreemptionSupported
    95: 1,  # CooperativeLaunch
    97: 163 << 10,  # MaxSharedMemoryPerBlockOptin
    106: 32,  # MaxBlocksPerMultiprocessor
    111: 1 << 10,  # ReservedSharedMemoryPerBlock
    115: 1,  # MemoryPoolsSupported
}
_NONE = (
    *(17, 18, 20, 32, 35, 50, 84, 85, 86, 88, 89, 91, 96, 98, 99, 100, 101, 112, 113, 114),
    *(116, 117, 118, 119),
)
_TEXTURES = (*range(21, 31), *range(42, 50), *range(51, 75), 77)


def of_mock(compute: str, ordinal: int) -> dict[str, Any]:
    """Return the attributes of a mock GPU, by their numbers as text."""
    major, _, minor = compute.partition(".")
    values = {number: 0 for number in (*_NONE, *_TEXTURES)} | _FIXED
    values |= {33: ordinal + 1, 34: 0, 75: int(major or 0), 76: int(minor or 0)}
    return {str(number): value for number, value in sorted(values.items())}
