"""CuPy's chapter "Padding arrays"."""
