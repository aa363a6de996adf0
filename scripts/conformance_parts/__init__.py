"""The parts of scripts/conformance.py."""
