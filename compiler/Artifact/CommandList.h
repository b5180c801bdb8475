//===- CommandList.h - Commands of a program in the artifact ----*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_COMMANDLIST_H
#define MTP_COMPILER_ARTIFACT_COMMANDLIST_H

#include "dialects/Exec/IR/ExecOps.h"
#include "runtime/schema/mtp_artifact_generated.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

namespace mtp::compiler {

namespace exec = mlir::exec;
using flatbuffers::Offset;

inline schema::Count toSchema(exec::Count count) {
  return schema::Count(count.base, count.step);
}

/// Writes dispatches. Programs have many equal dispatches, so each dispatch and
/// each vector is written once.
class SharedDispatches {
public:
  explicit SharedDispatches(flatbuffers::FlatBufferBuilder &fbb) : fbb(fbb) {}

  Offset<schema::Dispatch> get(uint32_t kernel,
                               const std::vector<uint32_t> &bindings,
                               llvm::ArrayRef<exec::Count> params,
                               int32_t live);

private:
  flatbuffers::FlatBufferBuilder &fbb;
  std::map<std::vector<uint32_t>, Offset<flatbuffers::Vector<uint32_t>>>
      bindingVectors;
  std::map<std::vector<int64_t>,
           Offset<flatbuffers::Vector<const schema::Count *>>>
      paramVectors;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t, int32_t>,
           Offset<schema::Dispatch>>
      dispatches;
};

/// Collects the commands of a program and their places, each place once.
class CommandList {
public:
  CommandList(flatbuffers::FlatBufferBuilder &fbb, SharedDispatches &dispatches)
      : fbb(fbb), dispatches(dispatches) {}

  /// Returns the index of a place. Places with equal bytes are equal.
  uint32_t place(const schema::Place &place) {
    std::string key(reinterpret_cast<const char *>(&place), sizeof(place));
    auto [entry, fresh] = indices.try_emplace(key, places.size());
    if (fresh)
      places.push_back(place);
    return entry->second;
  }
  void add(uint32_t kernel, const std::vector<uint32_t> &bindings,
           llvm::ArrayRef<exec::Count> params, int32_t live);
  void addSchedule(exec::ScheduleOp schedule);
  void finish();
  uint32_t size() const { return uint32_t(commands.size()); }

  /// The vectors of the program, after finish().
  Offset<flatbuffers::Vector<const schema::Place *>> placeVector;
  Offset<flatbuffers::Vector<schema::Action>> actionVector;
  Offset<flatbuffers::Vector<Offset<void>>> commandVector;
  Offset<flatbuffers::Vector<Offset<schema::CpuSchedule>>> cpuVector;

private:
  flatbuffers::FlatBufferBuilder &fbb;
  SharedDispatches &dispatches;
  std::vector<schema::Place> places;
  llvm::StringMap<uint32_t> indices;
  std::vector<Offset<void>> commands;
  std::vector<Offset<schema::CpuSchedule>> schedules;
};

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_COMMANDLIST_H
