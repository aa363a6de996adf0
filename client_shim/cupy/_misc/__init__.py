"""CuPy's chapter "Miscellaneous routines"."""
