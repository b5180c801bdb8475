//===- RequestFields.h - Options of Python as requests ----------*- C++ -*-===//

#ifndef MTP_TOOLS_PYTHON_SRC_REQUESTFIELDS_H
#define MTP_TOOLS_PYTHON_SRC_REQUESTFIELDS_H

#include "mtp/session.h"
#include "runtime/grammar/Compile.h"

#include <nanobind/nanobind.h>
#include <optional>
#include <string>

namespace mtp::python {

/// Returns the options of a session. Throws InvalidArgument, as all functions
/// here, for a value of another type, and names the option.
SessionOptions sessionOptions(const nanobind::dict &options);

/// Returns a request without its constraint.
Request requestOf(const nanobind::dict &fields);

/// A grammar, and the name of the argument that errors concern.
struct AskedGrammar {
  std::string argument;
  grammar::Source source;
  bool isCompact = false;
};

/// Returns the grammar of a request, if it has one.
std::optional<AskedGrammar> grammarOf(const nanobind::dict &fields);

/// Returns a whole number. `name` is the argument.
uint32_t countOf(nanobind::handle value, const char *name);

/// Returns a list of strings; one string counts as a list. `name` is the
/// argument.
std::vector<std::string> stringsOf(nanobind::handle value, const char *name);

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_REQUESTFIELDS_H
