"""Kubernetes: pods that ask for a remote GPU, and the pool's GPUs as objects of its API."""
