//===- result.h - A value, or why there is none -----------------*- C++ -*-===//
//
// Ownership: a result owns its value; a reference or pointer to it is valid
// while the result lives and holds it.
//
// Threads: a plain value; any thread may use one of its own.
//
// Checks: with MTP_CHECK_RESULTS defined, reading a value stops the program
// unless isOk() was asked before and said true. The layout is the same without.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RESULT_H
#define MTP_RESULT_H

#include "mtp/status.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <variant>

/// In each caller, so that files with and without the macro can be linked.
#define MTP_RESULT_INLINE [[gnu::always_inline]]

namespace mtp {

namespace detail {
/// Ends the process with a message about a wrong use of a Result.
[[noreturn]] inline void stopAtResult(std::string_view message) {
  std::fprintf(stderr, "MTP_CHECK_RESULTS: %.*s\n", int(message.size()),
               message.data());
  std::abort();
}
} // namespace detail

/// A T, or the failure that kept it from being made. Both convert implicitly,
/// so a function returning Result<T> returns either.
template <typename T>
class [[nodiscard]] Result {
  static_assert(!std::is_reference_v<T>, "hold a pointer instead");
  static_assert(!std::is_same_v<std::remove_cv_t<T>, Status>,
                "a Status is a result already");

public:
  /// A value.
  Result(T value) : storage(std::in_place_index<0>, std::move(value)) {}

  /// A failure. An OK status carries no value and so becomes Internal.
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

  /// The failure, or OK when there is a value.
  Status status() const {
    return isOk() ? Status() : *std::get_if<1>(&storage);
  }

  /// The value. Only when isOk() has said that there is one. Only code that
  /// is compiled with MTP_CHECK_RESULTS checks it.
  MTP_RESULT_INLINE T &value() & {
    check();
    return *std::get_if<0>(&storage);
  }
  MTP_RESULT_INLINE const T &value() const & {
    check();
    return *std::get_if<0>(&storage);
  }
  /// By value, so that `for (x : *makeList())` holds what it walks over.
  MTP_RESULT_INLINE T value() && { return std::move(value()); }

  /// As value().
  MTP_RESULT_INLINE T &operator*() & { return value(); }
  MTP_RESULT_INLINE const T &operator*() const & { return value(); }
  MTP_RESULT_INLINE T operator*() && { return std::move(value()); }
  MTP_RESULT_INLINE T *operator->() { return &value(); }
  MTP_RESULT_INLINE const T *operator->() const { return &value(); }

private:
  /// Whether a caller has asked. A copy has not been asked yet. Two threads may
  /// ask one result.
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
  // Always there, so that the layout does not follow the macro.
  [[no_unique_address]] Asked asked;
};

} // namespace mtp

#undef MTP_RESULT_INLINE

#define MTP_CONCAT_IMPL(a, b) a##b
#define MTP_CONCAT(a, b) MTP_CONCAT_IMPL(a, b)

/// Evaluates an expression of type Result<T>; returns its failure from the
/// enclosing function, or else moves its value into `target`, which may be a
/// declaration: MTP_ASSIGN_OR_RETURN(auto file, openFile(path)); It is more
/// than one statement, and braces around it alone need a comment inside, or
/// clang-format takes them away.
#define MTP_ASSIGN_OR_RETURN(target, expr)                                     \
  MTP_ASSIGN_OR_RETURN_IMPL(MTP_CONCAT(mtpResult, __LINE__), target, expr)
#define MTP_ASSIGN_OR_RETURN_IMPL(result, target, expr)                        \
  auto result = (expr);                                                        \
  if (!result.isOk()) {                                                        \
    return result.status();                                                    \
  }                                                                            \
  target = std::move(result).value()

#endif // MTP_RESULT_H
