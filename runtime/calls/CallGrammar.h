//===- CallGrammar.h - Grammars of answers with tool calls ------*- C++ -*-===//
//
// A model that must call a tool is restricted by a grammar of its format of
// calls, with the JSON Schema of each tool at the place of the arguments.
// ToolCallParser reads each text of the grammar as complete calls, and their
// arguments are valid.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_CALLS_CALLGRAMMAR_H
#define MTP_RUNTIME_CALLS_CALLGRAMMAR_H

#include "runtime/calls/AnswerStart.h"
#include "runtime/chat/tools/ToolFormat.h"
#include "runtime/chat/tools/ToolSet.h"

#include <memory>

namespace mtp {

/// The calls of an answer.
struct CallDemand {
  /// Whether there may be several calls.
  bool isParallel = true;
  /// Whether there must be a call. If not, text may stand in front of the calls
  /// or instead of them, and only tools that are strict have their schema.
  bool isRequired = true;
  AnswerStart start = {};
};

/// Compiles the grammar of an answer with calls of the callable tools of a set.
/// The README describes its texts.
///
/// Fails with InvalidArgument if the format is None. Fails as
/// grammar::compile() does if the schema of a tool cannot be compiled. The
/// message then begins with the path in the array of tools and the keyword:
/// "[1].function.parameters/properties/a/not: the keyword ...".
Result<std::shared_ptr<const grammar::Grammar>>
compileCalls(ToolFormat format, const ToolSet &tools, const CallDemand &demand);

/// Returns whether the string of a special token is a part of a mark, so that
/// the vocabulary of these grammars must have the token.
bool isCallMark(ToolFormat format, ReasoningFormat reasoning,
                std::string_view token);

} // namespace mtp

#endif // MTP_RUNTIME_CALLS_CALLGRAMMAR_H
