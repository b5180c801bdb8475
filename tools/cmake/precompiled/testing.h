// The headers that unit tests include most.
#include "tools/cmake/precompiled/standard.h"

#include <gtest/gtest.h>
