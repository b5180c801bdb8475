//===- RunFunction.cpp - mtp-run --function -------------------------------===//

#include "tools/mtp-run/RunFunction.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-run/Compare.h"
#include "tools/mtp-run/Npy.h"
#include "tools/mtp-run/TensorLiteral.h"

#include <cstdio>

using namespace mtp;

static Result<std::vector<Tensor>>
parseAll(const std::vector<std::string> &texts, const char *flag) {
  std::vector<Tensor> tensors;
  for (const std::string &text : texts) {
    Result<Tensor> tensor = parseTensor(text);
    if (!tensor)
      return tensor.status().withContext(strCat(flag, " ", tensors.size()));
    tensors.push_back(std::move(*tensor));
  }
  return tensors;
}

/// As many flags as results, or none.
static Status checkCount(const char *flag, size_t got, size_t results) {
  if (got == 0 || got == results)
    return okStatus();
  return invalidArgument(
      strCat(flag, ": expected ", results, ", one for each result, got ", got));
}

static Status store(const std::vector<Tensor> &results,
                    const std::vector<std::string> &paths) {
  for (size_t i = 0; i < paths.size(); ++i) {
    if (paths[i].empty() || paths[i][0] != '@')
      return invalidArgument(
          strCat("--output ", i, ": expected @file.npy, got '", paths[i], "'"));
    MTP_RETURN_IF_ERROR(writeNpy(paths[i].substr(1), results[i]));
  }
  return okStatus();
}

Status mtp::runFunction(Session &session, const RunOptions &options) {
  std::string_view name = options.function;
  if (!name.empty() && name[0] == '@')
    name.remove_prefix(1);
  MTP_ASSIGN_OR_RETURN(std::vector<Tensor> inputs,
                       parseAll(options.inputs, "--input"));
  MTP_ASSIGN_OR_RETURN(std::vector<Tensor> expected,
                       parseAll(options.expected, "--expected-output"));
  MTP_ASSIGN_OR_RETURN(std::vector<Tensor> results,
                       session.runFunction(name, inputs));
  MTP_RETURN_IF_ERROR(
      checkCount("--expected-output", expected.size(), results.size()));
  MTP_RETURN_IF_ERROR(
      checkCount("--output", options.outputs.size(), results.size()));
  MTP_RETURN_IF_ERROR(store(results, options.outputs));
  if (expected.empty() && options.outputs.empty())
    for (const Tensor &result : results)
      std::printf("%s\n", tensorText(result).c_str());
  for (size_t i = 0; i < expected.size(); ++i) {
    Status status = compareTensors(expected[i], results[i], options.tolerance);
    if (!status.isOk())
      return status.withContext(strCat("@", name, ": result ", i));
  }
  return okStatus();
}
