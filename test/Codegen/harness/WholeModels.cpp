//===- WholeModels.cpp - The list of kernels of whole models --------------===//

#include "WholeModels.h"

#include <fstream>
#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::codegen;
using namespace mtp::codegen::test;

/// Returns the end of the parameter at `begin`. Commas within brackets belong
/// to the parameter.
static size_t endOfParameter(const std::string &line, size_t begin) {
  int depth = 0;
  for (size_t at = begin; at < line.size(); ++at) {
    depth += (line[at] == '<') - (line[at] == '>');
    if (depth == 0 && line[at] == ',')
      return at;
  }
  return line.size();
}

static ModelKernel parseLine(const std::string &line) {
  ModelKernel kernel;
  size_t at = line.find(' ');
  kernel.kind = line.substr(0, at);
  kernel.keys = line.substr(at + 1);
  for (size_t begin = at + 1; begin < line.size();) {
    size_t end = endOfParameter(line, begin);
    size_t equals = line.find(" = ", begin);
    kernel.values[line.substr(begin, equals - begin)] =
        line.substr(equals + 3, end - equals - 3);
    begin = end + 2;
  }
  return kernel;
}

mtp::WeightFormat ModelKernel::format() const {
  // "<int4, group = 64>".
  const std::string &text = values.at("format");
  size_t end = text.find_first_of(",>");
  WeightFormat format{*findWeightElements(text.substr(1, end - 1))};
  if (format.isQuantized())
    format.group = std::stoll(text.substr(text.find(" = ") + 3));
  return format;
}

std::vector<ModelKernel> test::kernelsOfWholeModels() {
  std::ifstream file(MTP_WHOLE_MODELS);
  std::vector<ModelKernel> kernels;
  for (std::string line; std::getline(file, line);)
    kernels.push_back(parseLine(line));
  return kernels;
}

std::vector<ModelKernel> test::kernelsOfWholeModels(const std::string &kind) {
  std::vector<ModelKernel> kernels = kernelsOfWholeModels();
  std::erase_if(kernels,
                [&](const ModelKernel &kernel) { return kernel.kind != kind; });
  EXPECT_FALSE(kernels.empty()) << "no " << kind << " in " << MTP_WHOLE_MODELS;
  return kernels;
}

std::string ModelKernel::without(const std::set<std::string> &keys) const {
  std::string text;
  for (const auto &[key, value] : values)
    if (!keys.contains(key))
      text += (text.empty() ? "" : ", ") + key + " = " + value;
  return text;
}
