//===- Descriptor.h - A file descriptor with an owner -----------*- C++ -*-===//

#ifndef MTP_RUNTIME_CACHE_DESCRIPTOR_H
#define MTP_RUNTIME_CACHE_DESCRIPTOR_H

#include <unistd.h>
#include <utility>

namespace mtp::cache {

/// A file descriptor that is closed at the end of the scope. -1: none.
class Descriptor {
public:
  explicit Descriptor(int number = -1) : number(number) {}
  Descriptor(Descriptor &&other) noexcept : number(other.release()) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(number, other.number);
    return *this;
  }
  ~Descriptor() {
    if (number >= 0)
      ::close(number);
  }

  bool isOpen() const { return number >= 0; }
  int get() const { return number; }
  /// Passes the descriptor to the caller.
  int release() { return std::exchange(number, -1); }

private:
  int number;
};

} // namespace mtp::cache

#endif // MTP_RUNTIME_CACHE_DESCRIPTOR_H
