"""Benchmarks of cupool. Open `overhead.py` first."""
