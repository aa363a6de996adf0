"""CuPy's chapter "Statistics"."""
