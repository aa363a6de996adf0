"""CUDA bindings, as far as their import paths are used by others."""
