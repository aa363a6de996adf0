"""The mock GPU's kernel engine: CUDA C++ and PTX, translated to LLVM and run on the CPU."""
