//===- OracleFile.cpp - The oracle's results ------------------------------===//

#include "OracleFile.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

using namespace mtp::test;

/// Bounds relative to a row's largest magnitude.
static constexpr float kFloatBound = 1e-4f;
static constexpr float kBFloatBound = 2.5e-2f;

std::string mtp::test::oracleName(std::string_view artifact) {
  size_t dot = std::min(artifact.find('.'), artifact.size());
  std::string model(artifact.substr(0, dot));
  // The bundled model has one type of weights.
  if (model == "bundled")
    return model;
  bool isBf16 = artifact.substr(dot).starts_with(".bf16");
  return model + (isBf16 ? ".bf16" : ".f32");
}

float mtp::test::logitBound(const std::vector<float> &row, bool exact) {
  float largest = 0;
  for (float logit : row)
    largest = std::max(largest, std::abs(logit));
  return largest * (exact ? kFloatBound : kBFloatBound);
}
namespace json = llvm::json;

static std::vector<int32_t> integers(const json::Array *array) {
  std::vector<int32_t> values;
  for (const json::Value &value : *array)
    values.push_back(int32_t(*value.getAsInteger()));
  return values;
}

static float number(const json::Value &value) {
  return float(*value.getAsNumber());
}

static std::vector<float> numbers(const json::Array &array) {
  std::vector<float> values;
  for (const json::Value &value : array)
    values.push_back(number(value));
  return values;
}

static OracleForward forward(const json::Object &object) {
  OracleForward result;
  result.argmax = integers(object.getArray("argmax"));
  std::vector<int32_t> rows = integers(object.getArray("rows"));
  const json::Array *logits = object.getArray("logits");
  for (size_t i = 0; i < rows.size(); ++i) {
    PartialRow &row = result.rows[uint32_t(rows[i])];
    if (logits) {
      for (const json::Value &value : *(*logits)[i].getAsArray())
        row.emplace(int32_t(row.size()), number(value));
      continue;
    }
    // The bundled model's vocabulary is too large for full rows.
    std::vector<int32_t> ids =
        integers((*object.getArray("top8"))[i].getAsArray());
    const json::Array &values =
        *(*object.getArray("top8_logits"))[i].getAsArray();
    for (size_t j = 0; j < ids.size(); ++j)
      row.emplace(ids[j], number(values[j]));
  }
  return result;
}

std::vector<int32_t> OracleResult::tokens() const {
  std::vector<int32_t> all = prompt;
  all.insert(all.end(), greedy.begin(), greedy.end());
  return all;
}

std::vector<OracleResult> mtp::test::readOracle(const std::string &name) {
  auto buffer = llvm::MemoryBuffer::getFile(
      MTP_SOURCE_DIR "/test/oracle/expected/" + name + ".json");
  EXPECT_TRUE(bool(buffer)) << "cannot read the oracle's " << name << ".json";
  if (!buffer)
    return {};
  llvm::Expected<json::Value> file = json::parse((*buffer)->getBuffer());
  if (!file) {
    ADD_FAILURE() << llvm::toString(file.takeError());
    return {};
  }
  std::vector<OracleResult> results;
  for (const json::Value &value : *file->getAsObject()->getArray("results")) {
    const json::Object &object = *value.getAsObject();
    OracleResult &result = results.emplace_back();
    result.prompt = integers(object.getArray("prompt"));
    result.greedy = integers(object.getArray("greedy"));
    result.target = forward(*object.getObject("target"));
    for (const json::Value &draft : *object.getArray("drafts"))
      result.drafts.push_back(forward(*draft.getAsObject()));
    if (const json::Object *far = object.getObject("far")) {
      result.far = integers(far->getArray("tokens"));
      result.farFirst = int32_t(*far->getInteger("first"));
      for (const json::Value &row : *far->getArray("logits"))
        result.farLogits.push_back(numbers(*row.getAsArray()));
    }
    if (const json::Object *chain = object.getObject("chain")) {
      result.chain = integers(chain->getArray("ids"));
      result.chainReuse = chain->getString("mode") == "reuse";
      if (const json::Array *rows = chain->getArray("logits"))
        for (const json::Value &row : *rows)
          result.chainLogits.push_back(numbers(*row.getAsArray()));
    }
  }
  return results;
}
