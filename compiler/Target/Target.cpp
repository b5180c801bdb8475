//===- Target.cpp - The targets that a tool was built with ----------------===//

#include "compiler/Target/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mtp;
using namespace mtp::compiler;

void TargetRegistry::add(llvm::StringRef name, Create create) {
  entries.emplace_back(name.str(), std::move(create));
}

Result<Targets> TargetRegistry::create(llvm::ArrayRef<std::string> names,
                                       const TargetOptions &options) const {
  Targets targets;
  for (const std::string &name : names) {
    auto entry = llvm::find_if(
        entries, [&](const auto &known) { return known.first == name; });
    if (entry == entries.end()) {
      return invalidArgument("expected targets among " +
                             llvm::join(llvm::make_first_range(entries), ", ") +
                             " for --target, got '" + name + "'");
    }
    if (llvm::any_of(targets, [&](const std::unique_ptr<Target> &target) {
          return target->name() == name;
        })) {
      return invalidArgument("expected each target once for --target, got '" +
                             name + "' twice");
    }
    MTP_ASSIGN_OR_RETURN(std::unique_ptr<Target> target,
                         entry->second(options));
    targets.push_back(std::move(target));
  }
  return targets;
}
