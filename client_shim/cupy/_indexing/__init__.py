"""CuPy's chapter "Indexing routines"."""
