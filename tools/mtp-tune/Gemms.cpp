//===- Gemms.cpp - Algorithms of a GPU's library --------------------------===//

#include "tools/mtp-tune/Gemms.h"
#include "runtime/artifact/ArtifactFile.h"
#include "runtime/device/cuda/TuneGemms.h"

#include <set>
#include <tuple>

using namespace mtp;
using namespace mtp::tune;

/// Returns the products of a plan's library, each one once.
static std::vector<GemmToTune> productsOf(const Plan &plan) {
  std::set<std::tuple<uint32_t, uint32_t, uint32_t, uint64_t>> found;
  for (const Program &program : plan.programs)
    for (const Command &command : program.commands) {
      const schema::Kernel &kernel = plan.kernelOf(command);
      if (const schema::Gemm *gemm = kernel.gemm()) {
        int64_t rows = program.paramsOf(command, kernel)[0].at(program.begin);
        found.insert({uint32_t(rows), gemm->outputs(), gemm->inputs(),
                      gemm->workspace()});
      }
    }
  std::vector<GemmToTune> products;
  for (auto [rows, outputs, inputs, workspace] : found)
    products.push_back({rows, outputs, inputs, workspace});
  return products;
}

Result<std::vector<profile::GemmChoice>>
tune::tuneProducts(const std::string &artifact) {
  MTP_ASSIGN_OR_RETURN(std::shared_ptr<const ArtifactFile> file,
                       ArtifactFile::open(artifact, HashCheck::None));
  std::vector<profile::GemmChoice> choices;
  for (const Plan &plan : file->artifact().plans) {
    std::vector<GemmToTune> products = productsOf(plan);
    if (products.empty())
      continue;
    MTP_ASSIGN_OR_RETURN(TunedGemms tuned, tuneGemms(products));
    for (size_t i = 0; i < products.size(); ++i)
      choices.push_back({tuned.version, tuned.chip, products[i].rows,
                         products[i].outputs, products[i].inputs,
                         products[i].workspace, tuned.algorithms[i]});
  }
  return choices;
}
