"""User kernels on the mock: sources are generated here, compiled and run by `devices.ptx`."""
