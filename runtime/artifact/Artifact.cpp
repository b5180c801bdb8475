//===- Artifact.cpp - The content of a file -------------------------------===//

#include "runtime/artifact/Artifact.h"
#include "runtime/artifact/Builtins.h"
#include "runtime/artifact/DTypes.h"
#include "runtime/schema/KvPage.h"

using namespace mtp;

const CpuSchedule *Program::scheduleFor(uint64_t n) const {
  const CpuSchedule *found = nullptr;
  for (const CpuSchedule &schedule : schedules)
    if (schedule.begin <= n)
      found = &schedule;
  return found;
}

const Port *Program::output(std::string_view name) const {
  for (const Port &port : outputs)
    if (port.name == name)
      return &port;
  return nullptr;
}

uint32_t Program::windowRows() const {
  const Port *picks = output("picks");
  if (!picks || picks->shapeAt(begin).empty() || begin == 0)
    return k + 1;
  return uint32_t(picks->shapeAt(begin)[0] / begin);
}

uint32_t mtp::mostNodes(const schema::Envelope &e) {
  return uint32_t(mostNodes(e.max_k(), e.max_k(), e.max_nodes()));
}

static uint64_t pageTokens(const Artifact &artifact) {
  return artifact.envelope ? artifact.envelope->page_tokens() : 1;
}

uint64_t Artifact::pageBytes(uint32_t index) const {
  const schema::Cache *cache = caches->Get(index);
  return pageTokens(*this) * cache->entry_width() * dtypeBytes(cache->dtype());
}

uint64_t Artifact::pageStride(uint32_t index) const {
  const schema::Cache *cache = caches->Get(index);
  return mtp::pageStride(pageTokens(*this), cache->entry_width(),
                         dtypeBytes(cache->dtype()));
}

std::optional<uint32_t> Artifact::findState(std::string_view name) const {
  for (uint32_t i = 0; i < states.size(); ++i)
    if (states[i].name == name)
      return i;
  return std::nullopt;
}

std::string_view Plan::processor() const {
  return target->cpu() ? target->cpu()->string_view() : std::string_view();
}

int64_t Plan::tasksOf(const Command &command, const int64_t *params) const {
  const schema::Kernel &kernel = kernelOf(command);
  if (kernel.image() < 0 && !kernel.gemm())
    return builtinTasks(*findBuiltin(kernel.symbol()->string_view()),
                        {params, kernel.params()});
  const schema::Contract *contract = kernel.contract();
  int64_t groups = 1;
  if (int64_t size = contract->rows_per_group())
    groups = params[0] > 0 ? params[0] / size + (params[0] % size != 0) : 0;
  int64_t tasks = groups * int64_t(contract->tasks());
  uint64_t most = contract->most_tasks();
  return most != 0 && most < uint64_t(tasks) ? int64_t(most) : tasks;
}
