//===- CommandList.cpp - Commands of a program in the artifact ------------===//

#include "compiler/Artifact/CommandList.h"

using namespace mtp;
using namespace mtp::compiler;

Offset<schema::Dispatch>
SharedDispatches::get(uint32_t kernel, const std::vector<uint32_t> &bindings,
                      llvm::ArrayRef<exec::Count> params, int32_t live) {
  std::vector<schema::Count> counts;
  std::vector<int64_t> numbers;
  for (exec::Count param : params) {
    counts.push_back(toSchema(param));
    numbers.insert(numbers.end(), {param.base, param.step});
  }
  auto &bindingVector = bindingVectors[bindings];
  if (bindingVector.IsNull())
    bindingVector = fbb.CreateVector(bindings);
  auto &paramVector = paramVectors[numbers];
  if (paramVector.IsNull())
    paramVector = fbb.CreateVectorOfStructs(counts);
  auto &dispatch = dispatches[{kernel, bindingVector.o, paramVector.o, live}];
  if (dispatch.IsNull())
    dispatch =
        schema::CreateDispatch(fbb, kernel, bindingVector, paramVector, live);
  return dispatch;
}

void CommandList::add(uint32_t kernel, const std::vector<uint32_t> &bindings,
                      llvm::ArrayRef<exec::Count> params, int32_t live) {
  commands.push_back(dispatches.get(kernel, bindings, params, live).Union());
}

void CommandList::addSchedule(exec::ScheduleOp schedule) {
  std::vector<uint8_t> steps;
  for (size_t call = 0; call < schedule.getSteps().size(); ++call)
    steps.push_back(
        (schedule.isSolo(call) ? uint8_t(schema::CpuStep::Solo) : 0) |
        (schedule.isJoined(call) ? uint8_t(schema::CpuStep::Joined) : 0));
  auto stepVector =
      fbb.CreateVectorScalarCast<schema::CpuStep>(steps.data(), steps.size());
  schedules.push_back(
      schema::CreateCpuSchedule(fbb, schedule.getBegin(), stepVector));
}

void CommandList::finish() {
  placeVector = fbb.CreateVectorOfStructs(places);
  std::vector<uint8_t> actions(commands.size(),
                               uint8_t(schema::Action::Dispatch));
  actionVector = fbb.CreateVectorScalarCast<schema::Action>(actions.data(),
                                                            actions.size());
  commandVector = fbb.CreateVector(commands);
  cpuVector = fbb.CreateVector(schedules);
}
