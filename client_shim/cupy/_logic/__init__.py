"""CuPy's chapter "Logic functions"."""
