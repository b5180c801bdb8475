//===- RunFunction.cpp - mtp-run --function -------------------------------===//

#include "tools/mtp-run/RunFunction.h"
#include "runtime/core/StrCat.h"
#include "runtime/json/JsonWriter.h"
#include "tools/mtp-run/Compare.h"
#include "tools/mtp-run/tensors/Npy.h"
#include "tools/mtp-run/tensors/TensorLiteral.h"
#include "tools/support/Output.h"

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

/// Checks that a flag is given once per result, or not at all.
static Status checkCount(const char *flag, size_t got, size_t results) {
  if (got == 0 || got == results)
    return okStatus();
  return invalidArgument(
      strCat(flag, ": expected ", results, ", one for each result, got ", got));
}

using OutputFiles = std::vector<std::unique_ptr<OutputFile>>;

/// Opens the output files before the function runs, so that a wrong path loses
/// no result.
static Result<OutputFiles> openOutputs(const RunOptions &options) {
  OutputFiles files;
  for (const std::string &path : options.outputs) {
    std::string flag = strCat("--output ", files.size());
    if (path.empty() || path[0] != '@')
      return invalidArgument(
          strCat(flag, ": expected @file.npy, got '", path, "'"));
    auto file = OutputFile::create(path.substr(1), options.artifact);
    if (!file)
      return file.status().withContext(flag);
    files.push_back(std::move(*file));
  }
  return files;
}

static Status printResults(std::string_view name, bool isJson,
                           const std::vector<Tensor> &results) {
  std::string text;
  JsonWriter json;
  json.beginObject();
  json.field("function", name);
  json.key("results");
  json.beginArray();
  for (const Tensor &result : results) {
    text += tensorText(result) + "\n";
    json.beginObject();
    json.field("type", toString(result.type));
    json.key("value");
    json.raw(tensorJson(result));
    json.endObject();
  }
  json.endArray();
  json.endObject();
  return writeStandardOutput(isJson ? json.text() + "\n" : text, "the results");
}

Status mtp::runFunction(Session &session, const RunOptions &options) {
  std::string_view name = options.function;
  if (!name.empty() && name[0] == '@')
    name.remove_prefix(1);
  MTP_ASSIGN_OR_RETURN(std::vector<Tensor> inputs,
                       parseAll(options.inputs, "--input"));
  MTP_ASSIGN_OR_RETURN(std::vector<Tensor> expected,
                       parseAll(options.expected, "--expected-output"));
  MTP_ASSIGN_OR_RETURN(OutputFiles files, openOutputs(options));
  MTP_ASSIGN_OR_RETURN(std::vector<Tensor> results,
                       session.runFunction(name, inputs));
  MTP_RETURN_IF_ERROR(
      checkCount("--expected-output", expected.size(), results.size()));
  MTP_RETURN_IF_ERROR(checkCount("--output", files.size(), results.size()));
  for (size_t i = 0; i < files.size(); ++i)
    MTP_RETURN_IF_ERROR(files[i]->commit(npyText(results[i])));
  if ((expected.empty() && files.empty()) || options.json)
    MTP_RETURN_IF_ERROR(printResults(name, options.json, results));
  for (size_t i = 0; i < expected.size(); ++i) {
    Status status = compareTensors(expected[i], results[i], options.tolerance);
    if (!status.isOk())
      return status.withContext(strCat("@", name, ": result ", i));
  }
  return okStatus();
}
