"""CuPy's chapter "Sorting, searching, and counting"."""
