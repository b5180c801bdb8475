//===- Results.cpp - Results of a measurement -----------------------------===//

#include "tools/mtp-bench/measure/Results.h"

#include <algorithm>

using namespace mtp;
using namespace mtp::bench;

bool bench::isTargetPhase(std::string_view phase) {
  return phase == "verify" || phase == "accept";
}

/// Sums a quantity over a point's commands.
template <typename FnT>
static double sum(const Point &point, bool targetOnly, FnT of) {
  double total = 0;
  for (const CommandResult &command : point.commands)
    if (!targetOnly || isTargetPhase(command.phase))
      total += of(command);
  return total;
}

double Point::bytes(bool targetOnly) const {
  return sum(*this, targetOnly, [](const CommandResult &command) {
    return command.work.weightBytes + command.work.kvBytes;
  });
}

double Point::ops(bool targetOnly) const {
  return sum(*this, targetOnly,
             [](const CommandResult &command) { return command.work.ops; });
}

double Point::limit(const Rates &rates, bool targetOnly) const {
  return sum(*this, targetOnly, [&](const CommandResult &command) {
    return limitSeconds(command.work, rates);
  });
}

template <typename NameT>
static std::vector<Group> group(const Point &point, const Rates &rates,
                                NameT name) {
  std::vector<Group> groups;
  for (const CommandResult &command : point.commands) {
    auto found =
        std::find_if(groups.begin(), groups.end(),
                     [&](const Group &g) { return g.name == name(command); });
    if (found == groups.end())
      found = groups.emplace(groups.end(), Group{name(command)});
    ++found->commands;
    found->wall += command.wall;
    found->busy += command.busy;
    found->wait += command.wait;
    found->bytes += command.work.weightBytes + command.work.kvBytes;
    found->ops += command.work.ops;
    found->limit += limitSeconds(command.work, rates);
  }
  return groups;
}

std::vector<Group> bench::groupByPhase(const Point &point, const Rates &rates) {
  return group(point, rates, [](const CommandResult &c) { return c.phase; });
}

std::vector<Group> bench::groupByKind(const Point &point, const Rates &rates) {
  std::vector<Group> groups =
      group(point, rates, [](const CommandResult &c) { return c.kind; });
  std::stable_sort(
      groups.begin(), groups.end(),
      [](const Group &a, const Group &b) { return a.wall > b.wall; });
  return groups;
}

const Point *Results::find(uint32_t batch, uint32_t k, uint32_t context) const {
  for (const Point &point : points)
    if (point.batch == batch && point.k == k && point.context == context)
      return &point;
  return nullptr;
}

const Point &bench::profiledPoint(const Results &results,
                                  const Options &options) {
  uint32_t k = *std::max_element(options.ks.begin(), options.ks.end());
  const Point *point = results.find(options.batches[0], k, options.contexts[0]);
  return point ? *point : results.points.back();
}

std::vector<const Point *> bench::rowPoints(const Results &results,
                                            const Options &options) {
  std::vector<const Point *> points;
  for (const Point &point : results.points)
    if (point.context == options.contexts[0])
      points.push_back(&point);
  std::stable_sort(points.begin(), points.end(),
                   [](const Point *a, const Point *b) {
                     uint32_t rowsA = a->rows();
                     uint32_t rowsB = b->rows();
                     return rowsA != rowsB ? rowsA < rowsB : a->k < b->k;
                   });
  return points;
}
