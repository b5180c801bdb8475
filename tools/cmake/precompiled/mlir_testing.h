// What unit tests of the compiler include most.
#include "tools/cmake/precompiled/mlir.h"

#include <gtest/gtest.h>
