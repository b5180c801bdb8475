//===- RequestFields.cpp - Options of Python as requests ------------------===//

#include "tools/python/src/RequestFields.h"

#include "runtime/core/StrCat.h"
#include "tools/python/src/Errors.h"
#include "tools/python/src/Handles.h"
#include "tools/python/src/Values.h"

#include <limits>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <type_traits>
#include <utility>

using namespace mtp;
using namespace mtp::python;
namespace nb = nanobind;

static LogitsMode logitsOf(const std::string &name) {
  if (name == "none")
    return LogitsMode::None;
  if (name == "last")
    return LogitsMode::Last;
  if (name == "all")
    return LogitsMode::All;
  throw StatusError(invalidArgument(
      strCat("logits: expected 'none', 'last' or 'all', got '", name, "'")));
}

using Names = std::vector<std::string>;
using Biases = std::vector<std::pair<int32_t, float>>;
using Sequences = std::vector<std::vector<int32_t>>;

/// Describes the values of a field's type, for errors.
template <typename T>
static std::string describe() {
  if constexpr (std::is_same_v<T, bool>)
    return "True or False";
  else if constexpr (std::is_integral_v<T>)
    return strCat("a whole number of ", std::numeric_limits<T>::min(), " to ",
                  std::numeric_limits<T>::max());
  else if constexpr (std::is_floating_point_v<T>)
    return "a number";
  else if constexpr (std::is_same_v<T, std::string>)
    return "a string";
  else if constexpr (std::is_same_v<T, Names>)
    return "strings";
  else if constexpr (std::is_same_v<T, std::vector<uint32_t>>)
    return "whole numbers";
  else if constexpr (std::is_same_v<T, Biases>)
    return "numbers by token ids";
  else if constexpr (std::is_same_v<T, Sequences>)
    return "texts or lists of token ids";
  else
    return "token ids";
}

/// Returns the first characters of an object's text in Python.
static std::string textOf(nb::handle value) {
  nb::object text = nb::repr(value)[nb::slice(60)];
  return nb::str(text).c_str();
}

/// Converts the value of an argument.
template <typename T>
static T convert(nb::handle value, const char *name) {
  T converted{};
  // Python counts True and False among the whole numbers.
  bool isFlag = PyBool_Check(value.ptr()) && !std::is_same_v<T, bool>;
  if (isFlag || !nb::try_cast<T>(value, converted))
    throw StatusError(invalidArgument(
        strCat(name, ": expected ", describe<T>(), ", got ", textOf(value))));
  return converted;
}

/// Sets a field from the option of its name, if there is one.
template <typename T>
static void read(const nb::dict &options, const char *name, T &field) {
  if (options.contains(name))
    field = convert<T>(options[name], name);
}

/// Sets a field from the option of its name. None leaves it empty.
template <typename T>
static void read(const nb::dict &options, const char *name,
                 std::optional<T> &field) {
  if (options.contains(name) && !nb::object(options[name]).is_none())
    field = convert<T>(options[name], name);
}

SessionOptions python::sessionOptions(const nb::dict &options) {
  SessionOptions o;
  read(options, "k", o.k);
  read(options, "automatic_k", o.automaticK);
  read(options, "draft_p_min", o.draftPMin);
  read(options, "threads", o.threads);
  read(options, "pin_threads", o.pinThreads);
  read(options, "populate_memory", o.populateMemory);
  read(options, "kv_pages", o.kvPages);
  read(options, "max_batch", o.maxSlots);
  read(options, "prefill_chunk", o.prefillChunk);
  read(options, "chunks_per_step", o.chunksPerStep);
  read(options, "prompt_milliseconds", o.promptMilliseconds);
  read(options, "step_milliseconds", o.stepMilliseconds);
  read(options, "separate_prompts", o.separatePrompts);
  read(options, "rounds_per_launch", o.roundsPerLaunch);
  read(options, "capture_sizes", o.captureSizes);
  read(options, "prefix_cache", o.prefixCache);
  read(options, "snapshot_bytes", o.snapshotBytes);
  read(options, "snapshot_tokens", o.snapshotTokens);
  read(options, "deterministic", o.deterministic);
  std::string logits = "none";
  read(options, "logits", logits);
  o.logits = logitsOf(logits);
  return o;
}

static LogprobsMode logprobsModeOf(const std::string &name) {
  if (name == "raw")
    return LogprobsMode::Raw;
  if (name == "processed")
    return LogprobsMode::Processed;
  throw StatusError(invalidArgument(strCat(
      "logprobs_mode: expected 'raw' or 'processed', got '", name, "'")));
}

/// Reads the rules that change logits, and the log-probabilities.
static void readLogits(const nb::dict &fields, Request &r) {
  read(fields, "repetition_penalty", r.rules.repetitionPenalty);
  read(fields, "presence_penalty", r.rules.presencePenalty);
  read(fields, "frequency_penalty", r.rules.frequencyPenalty);
  Biases biases;
  read(fields, "logit_bias", biases);
  for (auto [token, bias] : biases)
    r.rules.bias.push_back({token, bias});
  read(fields, "allowed_tokens", r.rules.allowedTokens);
  read(fields, "bad_words", r.rules.badWords);
  read(fields, "logprobs", r.logprobs.output);
  read(fields, "prompt_logprobs", r.logprobs.prompt);
  std::string mode = "raw";
  read(fields, "logprobs_mode", mode);
  r.logprobs.mode = logprobsModeOf(mode);
}

Request python::requestOf(const nb::dict &fields) {
  Request r;
  read(fields, "prompt", r.prompt);
  read(fields, "temperature", r.sampling.temperature);
  read(fields, "top_k", r.sampling.topK);
  read(fields, "top_p", r.sampling.topP);
  read(fields, "min_p", r.sampling.minP);
  read(fields, "seed", r.sampling.seed);
  read(fields, "max_tokens", r.maxTokens);
  read(fields, "min_tokens", r.minTokens);
  read(fields, "stop_tokens", r.stopTokens);
  read(fields, "ignore_eos", r.ignoreEos);
  read(fields, "priority", r.priority);
  read(fields, "group", r.group);
  read(fields, "cache_salt", r.cacheSalt);
  read(fields, "kind", r.kind);
  read(fields, "k", r.k);
  read(fields, "draft_p_min", r.draftPMin);
  read(fields, "outputs", r.outputs);
  read(fields, "sees_drafts", r.seesDrafts);
  readLogits(fields, r);
  if (fields.contains("inputs"))
    for (auto [name, tensor] : nb::cast<nb::dict>(fields["inputs"]))
      r.inputs.push_back(
          {nb::cast<std::string>(name), toTensor(nb::cast<nb::tuple>(tensor))});
  return r;
}

/// Returns the kind of grammar that an argument gives. Other arguments give a
/// JSON Schema.
static grammar::Source::Kind kindOf(const std::string &argument) {
  using Kind = grammar::Source::Kind;
  if (argument == "json_object")
    return Kind::JsonObject;
  if (argument == "regex")
    return Kind::Regex;
  if (argument == "grammar")
    return Kind::Gbnf;
  return argument == "choice" ? Kind::Choice : Kind::JsonSchema;
}

std::optional<std::pair<AskedConstraint, std::string>>
python::constraintOf(const nb::dict &fields) {
  AskedConstraint asked;
  // (reasoning, text of the prompt)
  if (fields.contains("start")) {
    auto start = nb::cast<nb::tuple>(fields["start"]);
    asked.reasoning = convert<std::string>(start[0], "reasoning");
    asked.prompt = nb::cast<std::string>(start[1]);
  }
  if (fields.contains("calls")) {
    asked.calls = nb::cast<const ToolsHandle &>(fields["calls"]).calls;
    return std::pair(std::move(asked), std::string("tools"));
  }
  if (!fields.contains("constraint"))
    return std::nullopt;
  // (argument, text or texts, is compact)
  auto given = nb::cast<nb::tuple>(fields["constraint"]);
  auto argument = nb::cast<std::string>(given[0]);
  asked.source.kind = kindOf(argument);
  asked.isCompact = nb::cast<bool>(given[2]);
  if (asked.source.kind == grammar::Source::Kind::Choice)
    asked.source.choices = convert<Names>(given[1], argument.c_str());
  else
    asked.source.text = convert<std::string>(given[1], argument.c_str());
  return std::pair(std::move(asked), std::move(argument));
}

std::vector<std::string> python::stringsOf(nb::handle value, const char *name) {
  if (nb::isinstance<nb::str>(value))
    return {convert<std::string>(value, name)};
  return convert<Names>(value, name);
}

uint32_t python::countOf(nb::handle value, const char *name) {
  return convert<uint32_t>(value, name);
}
