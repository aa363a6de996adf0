"""Where CuPy differs from SciPy in the chapter `proto.operations.signal`."""
