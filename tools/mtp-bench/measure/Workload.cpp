//===- Workload.cpp - Bytes and operations of programs --------------------===//

#include "tools/mtp-bench/measure/Workload.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/core/StrCat.h"
#include "runtime/schema/WeightFormat.h"

#include <algorithm>
#include <charconv>
#include <set>

using namespace mtp;
using namespace mtp::bench;

/// Splits `text` at its first comma outside of brackets and strings.
static std::string_view nextEntry(std::string_view &text) {
  int depth = 0;
  bool isString = false;
  size_t end = 0;
  for (; end < text.size(); ++end) {
    char c = text[end];
    if (c == '"')
      isString = !isString;
    if (isString)
      continue;
    if (c == ',' && depth == 0)
      break;
    depth += std::string_view("<[{(").find(c) != std::string_view::npos;
    depth -= std::string_view(">]})").find(c) != std::string_view::npos;
  }
  std::string_view entry = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  entry.remove_prefix(std::min(entry.find_first_not_of(' '), entry.size()));
  return entry;
}

/// Returns the text between the outermost brackets of an attribute, "<...>"
/// after its name or "{...}"; the whole text if there are none.
static std::string_view insideOf(std::string_view attribute) {
  size_t begin = attribute.find_first_of("<{=");
  if (begin == std::string_view::npos || attribute[begin] == '=')
    return attribute;
  std::string_view inside = attribute.substr(begin + 1);
  return inside.substr(0, inside.find_last_of(">}"));
}

/// Returns the text after "key = " in a printed configuration, ignoring nested
/// keys.
static std::string_view configValue(std::string_view config,
                                    std::string_view key) {
  std::string sought = strCat(key, " = ");
  for (std::string_view rest = insideOf(config); !rest.empty();) {
    std::string_view entry = nextEntry(rest);
    if (entry.starts_with(sought))
      return entry.substr(sought.size());
  }
  return {};
}

int64_t bench::configInt(std::string_view config, std::string_view key) {
  std::string_view value = configValue(config, key);
  int64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

std::string_view bench::configText(std::string_view config,
                                   std::string_view key) {
  std::string_view value = configValue(config, key);
  if (value.starts_with('"')) {
    value.remove_prefix(1);
    return value.substr(0, value.find('"'));
  }
  // A number is no text.
  if (value.empty() || value.find_first_of("-0123456789") == 0)
    return {};
  std::string_view inside = insideOf(value);
  return nextEntry(inside);
}

std::string_view bench::kindOf(const schema::Kernel &kernel) {
  return kernel.kind() ? kernel.kind()->string_view()
                       : kernel.symbol()->string_view();
}

/// Returns the arithmetic for a type of weights.
static Arithmetic arithmeticOf(WeightElements elements) {
  switch (elements) {
  case WeightElements::F32:
    return Arithmetic::F32;
  case WeightElements::BF16:
    return Arithmetic::BF16;
  case WeightElements::Int8:
    return Arithmetic::I8;
  case WeightElements::Int4:
  case WeightElements::Int5:
  case WeightElements::Int6:
  case WeightElements::E2M1:
  case WeightElements::NL4:
    return Arithmetic::I4;
  }
  return Arithmetic::F32;
}

namespace {
/// The sizes in a kernel's configuration that determine its operations.
struct Shape {
  explicit Shape(const schema::Kernel &kernel) {
    std::string_view config =
        kernel.config() ? kernel.config()->string_view() : std::string_view();
    auto read = [&](const char *key) { return double(configInt(config, key)); };
    inputs = read("k");
    outputs = read("n") > 0 ? read("n") : 2 * read("inter");
    heads = std::max(read("heads"), 1.0);
    experts = read("experts");
    chosen = read("top_k");
    vocab = read("vocab");
    queryHeads = read("q_heads");
    keyWidth = read("dk");
    valueWidth = read("dv");
    window = read("window");
    // For attention, the type of its cache.
    std::string_view format = configText(config, "format");
    type =
        arithmeticOf(findWeightElements(
                         format.empty() ? configText(config, "dtype") : format)
                         .value_or(WeightElements::F32));
  }
  /// Returns whether the kernel multiplies rows by a weight that is a matrix,
  /// or a stack of matrices.
  bool isProduct() const { return inputs > 0 && outputs > 0; }
  bool isChoice() const { return isProduct() && experts > 0 && chosen > 0; }
  bool isAttention() const { return queryHeads > 0 && keyWidth > 0; }

  double inputs, outputs, heads, experts, chosen, vocab;
  double queryHeads, keyWidth, valueWidth, window;
  Arithmetic type;
};
} // namespace

static double kvBytes(const Artifact &artifact, uint32_t cache, double tokens) {
  const schema::Cache *entry = artifact.caches->Get(cache);
  return tokens * entry->entry_width() * double(dtypeBytes(entry->dtype()));
}

Work bench::commandWork(const Artifact &artifact, const Plan &plan,
                        const Program &program, const Command &command,
                        uint32_t batch, uint32_t context) {
  const schema::Kernel &kernel = plan.kernelOf(command);
  Shape shape(kernel);
  // A command without rows is no product.
  std::span<const Count> params = program.paramsOf(command, kernel);
  double rows = params.empty() ? 0 : double(params[0].at(batch));
  double tokens = shape.window > 0 ? std::min(shape.window, double(context))
                                   : double(context);
  // A table counts the rows that are looked up, a stack the chosen experts.
  double share = 1;
  if (shape.vocab > 0)
    share = std::min(1.0, rows / shape.vocab);
  if (shape.isChoice())
    share = expectedExperts(shape.experts, shape.chosen, rows) / shape.experts;
  Work work;
  work.type = shape.type;
  for (const Place &place : program.placesOf(command, kernel)) {
    if (place.space == schema::Space::Weight)
      work.weightBytes += share * double(place.bytes.at(batch));
    if (place.space == schema::Space::Kv && shape.isAttention())
      work.kvBytes += kvBytes(artifact, place.index, tokens * batch);
  }
  if (shape.isAttention())
    work.ops = 2 * rows * tokens * shape.queryHeads *
               (shape.keyWidth + shape.valueWidth);
  else if (shape.isProduct())
    work.ops = 2 * rows * shape.inputs * shape.outputs * shape.heads *
               (shape.isChoice() ? shape.chosen : 1);
  return work;
}

uint64_t bench::boundWeightBytes(const Plan &plan, const Program &program) {
  std::set<uint32_t> weights;
  for (const Command &command : program.ownCommands())
    for (const Place &place : program.placesOf(command, plan.kernelOf(command)))
      if (place.space == schema::Space::Weight)
        weights.insert(place.index);
  uint64_t sum = 0;
  for (uint32_t weight : weights)
    sum += plan.weights->Get(weight)->size();
  return sum;
}

bool bench::hasExperts(const Plan &plan, const Program &program) {
  return std::ranges::any_of(program.ownCommands(), [&](const Command &c) {
    return Shape(plan.kernelOf(c)).isChoice();
  });
}

/// Returns the kind of a sampler without the prefix of the runtime's own
/// samplers.
static std::string_view withoutPrefix(std::string_view kind) {
  constexpr std::string_view kPrefix = "mtp.";
  return kind.starts_with(kPrefix) ? kind.substr(kPrefix.size()) : kind;
}

/// Returns whether the kernel scans logits for a later pick.
static bool scansTokens(std::string_view kind) {
  return withoutPrefix(kind).starts_with("sample_scan");
}

/// Returns whether the kernel picks tokens, by itself or after others.
static bool picksTokens(std::string_view kind) {
  if (withoutPrefix(kind).starts_with("sample"))
    return !scansTokens(kind);
  return kind.starts_with("argmax");
}

std::vector<std::string> bench::phasesOf(const Plan &plan,
                                         const Program &program) {
  auto kindAt = [&](size_t command) {
    return kindOf(plan.kernelOf(program.commands[command]));
  };
  size_t count = program.ownCommands().size(), picks = 0;
  for (size_t i = 0; i < count; ++i)
    picks += picksTokens(kindAt(i));
  bool isPrefill = program.kind == schema::ProgramKind::Prefill;
  std::vector<std::string> phases;
  // Every pick but the last is a draft's, and ends its phase.
  size_t picked = 0;
  bool isLast = false;
  for (size_t i = 0; i < count; ++i) {
    if (isPrefill) {
      phases.push_back(picked == 0 && !program.catchUp ? "target" : "drafter");
      picked += picksTokens(kindAt(i));
      continue;
    }
    bool drafts = picked + 1 < picks;
    isLast |= !drafts && (picksTokens(kindAt(i)) || scansTokens(kindAt(i)));
    phases.push_back(drafts   ? strCat("draft ", picked + 1)
                     : isLast ? "accept"
                              : "verify");
    picked += picksTokens(kindAt(i));
  }
  return phases;
}
