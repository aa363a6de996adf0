"""Where CuPy differs from NumPy in the chapter `proto.operations.logic`."""
