"""CuPy's chapter "Binary operations"."""
