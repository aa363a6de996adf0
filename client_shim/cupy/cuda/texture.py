"""`cupy.cuda.texture`: textures and surfaces, which are refused with the reason."""

from __future__ import annotations

from typing import Any

from cupool.client_shim.cupy.cuda import _runtime_devices


def _refusing(name: str) -> Any:
    def __new__(cls: type, *args: Any, **kwargs: Any) -> Any:
        _runtime_devices.refuse_array()

    doc = f"cupy.cuda.texture.{name} is not supported by cupool yet: making one raises."
    return type(name, (), {"__new__": __new__, "__doc__": doc, "__module__": "cupy.cuda.texture"})


ChannelFormatDescriptor = _refusing("ChannelFormatDescriptor")
CUDAarray = _refusing("CUDAarray")
ResourceDescriptor = _refusing("ResourceDescriptor")
SurfaceObject = _refusing("SurfaceObject")
TextureDescriptor = _refusing("TextureDescriptor")
TextureObject = _refusing("TextureObject")
