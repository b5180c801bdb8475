//===- ToolSet.h - The tools of a request -----------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CHAT_TOOLS_TOOLSET_H
#define MTP_RUNTIME_CHAT_TOOLS_TOOLSET_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mtp {

/// The types that a schema allows for a value.
struct ValueTypes {
  bool string = false, integer = false, number = false, boolean = false,
       null = false, object = false, array = false;

  /// Returns whether the schema names no type.
  bool isUnknown() const {
    return !string && !integer && !number && !boolean && !null && !object &&
           !array;
  }
  /// Returns whether text is a string without a look at it.
  bool isOnlyString() const {
    return string && !integer && !number && !boolean && !null && !object &&
           !array;
  }
};

/// A tool that answers may call.
struct Tool {
  std::string name;
  /// The JSON schema of the arguments; `{}` without one.
  std::string schema = "{}";
  std::map<std::string, ValueTypes, std::less<>> parameters;
  /// Whether the caller wants arguments that match the schema.
  bool isStrict = false;
  /// Whether answers may call the tool.
  bool isCallable = true;

  /// Returns the types of a parameter; unknown for a parameter that the schema
  /// lacks.
  ValueTypes typesOf(std::string_view parameter) const;
};

/// The tools of a request.
class ToolSet {
public:
  static constexpr size_t kMostTools = 512, kMostNameBytes = 128;

  /// Reads untrusted JSON in OpenAI's form: an array of
  /// {"type": "function", "function": {"name": ..., "parameters": a schema}}.
  /// Fails with InvalidArgument. The message begins with the path of the wrong
  /// member: "[1].function.name: expected ...".
  static Result<ToolSet> read(std::string_view json);

  /// Forbids calls of all tools except `names`, which must be names of tools.
  void restrictTo(std::span<const std::string> names);

  /// Returns the callable tool of a name, or null.
  const Tool *find(std::string_view name) const;
  const std::vector<Tool> &tools() const { return all; }
  /// Returns whether a callable tool is strict.
  bool hasStrict() const;

  /// Returns whether a text can name a tool: 1 to 128 letters, digits, '_',
  /// '-' or '.'.
  static bool isName(std::string_view text);

private:
  std::vector<Tool> all;
  std::map<std::string, size_t, std::less<>> indices;
};

} // namespace mtp

#endif // MTP_RUNTIME_CHAT_TOOLS_TOOLSET_H
