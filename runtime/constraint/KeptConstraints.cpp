//===- KeptConstraints.cpp - The constraints used last --------------------===//

#include "runtime/constraint/KeptConstraints.h"
#include "runtime/core/StrCat.h"

#include <algorithm>

using namespace mtp;

std::string mtp::constraintKey(const grammar::Source &source, bool isCompact) {
  std::string key = strCat(int(source.kind), isCompact ? "c" : "w",
                           source.text.size(), ":", source.text);
  for (const std::string &choice : source.choices)
    key += strCat(choice.size(), ":", choice);
  return key;
}

KeptConstraints::Made KeptConstraints::find(std::string key,
                                            const std::function<Made()> &make) {
  std::lock_guard lock(mutex);
  auto found = std::ranges::find(kept, key, &Kept::key);
  if (found == kept.end()) {
    MTP_ASSIGN_OR_RETURN(auto constraint, make());
    kept.push_front({std::move(key), std::move(constraint)});
    if (kept.size() > kMostKept)
      kept.pop_back();
  } else {
    kept.splice(kept.begin(), kept, found);
  }
  return kept.front().constraint;
}
