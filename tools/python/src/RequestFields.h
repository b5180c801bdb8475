//===- RequestFields.h - Options of Python as requests ----------*- C++ -*-===//

#ifndef MTP_TOOLS_PYTHON_SRC_REQUESTFIELDS_H
#define MTP_TOOLS_PYTHON_SRC_REQUESTFIELDS_H

#include "mtp/session.h"
#include "tools/python/src/LoadedModel.h"

#include <nanobind/nanobind.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mtp::python {

/// Returns the options of a session. Throws InvalidArgument, as all functions
/// here, for a value of another type, and names the option.
SessionOptions sessionOptions(const nanobind::dict &options);

/// Returns a request without its constraint.
Request requestOf(const nanobind::dict &fields);

/// Returns what the text of a request must be, and the argument that errors
/// concern, if the request has a grammar or calls.
std::optional<std::pair<AskedConstraint, std::string>>
constraintOf(const nanobind::dict &fields);

/// Returns a whole number. `name` is the argument.
uint32_t countOf(nanobind::handle value, const char *name);

/// Returns a list of strings; one string counts as a list. `name` is the
/// argument.
std::vector<std::string> stringsOf(nanobind::handle value, const char *name);

} // namespace mtp::python

#endif // MTP_TOOLS_PYTHON_SRC_REQUESTFIELDS_H
