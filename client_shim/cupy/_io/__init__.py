"""CuPy's chapter "Input and output"."""
