//===- Handles.h - Objects behind the driver's handles ----------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_DRIVER_HANDLES_H
#define MTP_TEST_GPUSIM_DRIVER_HANDLES_H

#include <memory>
#include <unordered_map>
#include <vector>

namespace mtp::gpusim {

/// Live objects of one kind. A handle is an object's address, and is looked up
/// before use, so a freed or invalid handle is detected. Freed objects keep
/// their addresses, so a stale handle never refers to another object.
template <typename T>
class Handles {
public:
  T *add(std::unique_ptr<T> object) {
    T *handle = object.get();
    live.emplace(handle, std::move(object));
    inOrder.push_back(handle);
    return handle;
  }
  T *find(const void *handle) const {
    auto found = live.find(handle);
    return found == live.end() ? nullptr : found->second.get();
  }
  bool remove(const void *handle) {
    auto found = live.find(handle);
    if (found == live.end())
      return false;
    std::erase(inOrder, found->second.get());
    graveyard.push_back(std::move(found->second));
    live.erase(found);
    return true;
  }
  /// Returns all objects in the order of creation, whatever their addresses
  /// are.
  const std::vector<T *> &all() const { return inOrder; }
  size_t size() const { return live.size(); }

private:
  std::unordered_map<const void *, std::unique_ptr<T>> live;
  std::vector<T *> inOrder;
  std::vector<std::unique_ptr<T>> graveyard;
};

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_DRIVER_HANDLES_H
