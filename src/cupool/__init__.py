"""cupool: GPUs that live anywhere, used as if they were here."""

__version__ = "0.1.0"
