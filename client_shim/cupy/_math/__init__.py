"""CuPy's chapter "Mathematical functions"."""
