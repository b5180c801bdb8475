//===- KeptConstraints.h - The constraints used last ------------*- C++ -*-===//

#ifndef MTP_RUNTIME_CONSTRAINT_KEPTCONSTRAINTS_H
#define MTP_RUNTIME_CONSTRAINT_KEPTCONSTRAINTS_H

#include "runtime/constraint/GrammarConstraint.h"

#include <functional>
#include <list>
#include <mutex>
#include <string>

namespace mtp {

/// Returns a text that only equal grammars have. `isCompact`: JSON has no white
/// space between tokens.
std::string constraintKey(const grammar::Source &source, bool isCompact);

/// Keeps the constraints used last, so that requests with equal grammars share
/// masks. Any thread may call find().
class KeptConstraints {
public:
  /// The number of constraints that are kept. Each takes at most
  /// Limits::cacheBytes.
  static constexpr size_t kMostKept = 16;
  using Made = Result<std::shared_ptr<const TokenConstraint>>;

  /// Returns the constraint of `key`, or calls `make` for it. One call of
  /// `make` runs at a time. Fails as `make` does.
  Made find(std::string key, const std::function<Made()> &make);

private:
  struct Kept {
    std::string key;
    std::shared_ptr<const TokenConstraint> constraint;
  };

  std::mutex mutex;
  /// The last one used first.
  std::list<Kept> kept;
};

} // namespace mtp

#endif // MTP_RUNTIME_CONSTRAINT_KEPTCONSTRAINTS_H
