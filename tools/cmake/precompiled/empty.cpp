// CMake precompiles a header for a target, and a target has a source.
