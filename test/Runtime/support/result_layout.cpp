//===- result_layout.cpp - Sizes of results, without checks ---------------===//

#undef MTP_CHECK_RESULTS
#include "runtime/core/Result.h"

#include "result_layout.h"
#include <memory>
#include <string>

using namespace mtp;

const size_t sizesWithoutChecks[4] = {
    sizeof(Result<char>), sizeof(Result<int64_t>), sizeof(Result<std::string>),
    sizeof(Result<std::unique_ptr<int>>)};
