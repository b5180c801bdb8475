//===- result.h - A value or a failure --------------------------*- C++ -*-===//
//
// Ownership: a result owns its value. A reference or pointer to the value is
// valid while the result lives and holds the value.
//
// Threads: a plain value; each thread may use its own copy.
//
// Checks: with MTP_CHECK_RESULTS defined, reading a value stops the program
// unless isOk() was called before and returned true. The layout does not depend
// on the macro.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_INCLUDE_MTP_RESULT_H
#define MTP_RUNTIME_INCLUDE_MTP_RESULT_H

#include "mtp/status.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <variant>

/// Inlined into each caller, so that files with and without the macro can be
/// linked together.
#define MTP_RESULT_INLINE [[gnu::always_inline]]

namespace mtp {

namespace detail {
/// Ends the process with a message about the misuse of a Result.
[[noreturn]] inline void stopAtResult(std::string_view message) {
  std::fprintf(stderr, "MTP_CHECK_RESULTS: %.*s\n", int(message.size()),
               message.data());
  std::abort();
}
} // namespace detail

/// A T, or the failure that prevented it. Both convert implicitly, so a
/// function that returns Result<T> can return either.
template <typename T>
class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T>, "hold a pointer instead");
  static_assert(!std::is_same_v<std::remove_cv_t<T>, Status>,
                "a Status is a result already");

public:
  /// Makes a result from a value.
  Result(T value) : storage(std::in_place_index<0>, std::move(value)) {}

  /// Makes a result from a failure. An OK status carries no value and so
  /// becomes Internal.
  Result(Status status) : storage(std::in_place_index<1>, std::move(status)) {
    if (std::get_if<1>(&storage)->isOk())
      *std::get_if<1>(&storage) = internalError("expected a value, got OK");
  }

  /// Whether there is a value.
  bool isOk() const {
    asked.mark();
    return storage.index() == 0;
  }
  explicit operator bool() const { return isOk(); }

  /// Returns the failure, or OK when there is a value.
  Status status() const {
    return isOk() ? Status() : *std::get_if<1>(&storage);
  }

  /// Returns the value. Call it only after isOk() has returned true; only code
  /// compiled with MTP_CHECK_RESULTS checks this.
  MTP_RESULT_INLINE T &value() & {
    check();
    return *std::get_if<0>(&storage);
  }
  MTP_RESULT_INLINE const T &value() const & {
    check();
    return *std::get_if<0>(&storage);
  }
  /// Returns by value, so that `for (x : *makeList())` keeps the list alive.
  MTP_RESULT_INLINE T value() && { return std::move(value()); }

  /// Same as value().
  MTP_RESULT_INLINE T &operator*() & { return value(); }
  MTP_RESULT_INLINE const T &operator*() const & { return value(); }
  MTP_RESULT_INLINE T operator*() && { return std::move(value()); }
  MTP_RESULT_INLINE T *operator->() { return &value(); }
  MTP_RESULT_INLINE const T *operator->() const { return &value(); }

private:
  /// Whether a caller has called isOk(). A copy starts without the mark. Two
  /// threads may call isOk() of one result at once.
  class Asked {
  public:
    Asked() = default;
    Asked(const Asked &) noexcept {}
    Asked &operator=(const Asked &) noexcept {
      std::atomic_ref(isAsked).store(false, std::memory_order_relaxed);
      return *this;
    }
    void mark() const {
      std::atomic_ref(isAsked).store(true, std::memory_order_relaxed);
    }
    bool get() const {
      return std::atomic_ref(isAsked).load(std::memory_order_relaxed);
    }

  private:
    mutable bool isAsked = false;
  };

  MTP_RESULT_INLINE void check() const {
#ifdef MTP_CHECK_RESULTS
    if (!asked.get())
      detail::stopAtResult("a result was read before it was asked whether it "
                           "holds a value");
    if (storage.index() != 0)
      detail::stopAtResult(std::get_if<1>(&storage)->toString());
#endif
  }

  std::variant<T, Status> storage;
  // Present without the macro, too, so that the layout does not depend on it.
  [[no_unique_address]] Asked asked;
};

} // namespace mtp

#undef MTP_RESULT_INLINE

#define MTP_CONCAT_IMPL(a, b) a##b
#define MTP_CONCAT(a, b) MTP_CONCAT_IMPL(a, b)

/// Evaluates an expression of type Result<T>. Returns its failure from the
/// enclosing function, or moves its value into `target`, which may be a
/// declaration: MTP_ASSIGN_OR_RETURN(auto file, openFile(path)); The macro
/// expands to several statements. Braces around a single use need a comment
/// inside, or clang-format removes them.
#define MTP_ASSIGN_OR_RETURN(target, expr)                                     \
  MTP_ASSIGN_OR_RETURN_IMPL(MTP_CONCAT(mtpResult, __LINE__), target, expr)
#define MTP_ASSIGN_OR_RETURN_IMPL(result, target, expr)                        \
  auto result = (expr);                                                        \
  if (!result.isOk()) {                                                        \
    return result.status();                                                    \
  }                                                                            \
  target = std::move(result).value()

#endif // MTP_RUNTIME_INCLUDE_MTP_RESULT_H
