//===- PlanGemms.cpp - The library's products of a plan -------------------===//

#include "runtime/device/cuda/PlanGemms.h"
#include "runtime/artifact/SemanticVerifier.h"
#include "runtime/core/StrCat.h"

#include <set>

using namespace mtp;

static GemmShape shapeOf(const schema::Gemm &gemm, int64_t rows) {
  return {uint32_t(rows), gemm.outputs(), gemm.inputs(), gemm.workspace()};
}

/// Returns the shapes of a plan's products, each one once.
static std::set<GemmShape> gemmShapes(const Plan &plan) {
  std::set<GemmShape> shapes;
  for (const Program &program : plan.programs) {
    if (!program.callsLibrary)
      continue;
    for (const Command &command : program.commands) {
      const schema::Kernel &kernel = plan.kernelOf(command);
      if (kernel.gemm())
        shapes.insert(
            shapeOf(*kernel.gemm(),
                    program.paramsOf(command, kernel)[0].at(program.begin)));
    }
  }
  return shapes;
}

/// Returns the plan's algorithm for the product, or null.
static const schema::GemmAlgorithm *findAlgorithm(const Plan &plan,
                                                  uint64_t version,
                                                  std::string_view chip,
                                                  const GemmShape &shape) {
  for (uint32_t i = 0; i < vectorSize(plan.gemmAlgorithms); ++i) {
    const schema::GemmAlgorithm *known = plan.gemmAlgorithms->Get(i);
    if (known->version() == version && known->chip()->string_view() == chip &&
        known->rows() == shape.rows && known->outputs() == shape.outputs &&
        known->inputs() == shape.inputs)
      return known;
  }
  return nullptr;
}

Status PlanGemms::add(const CudaContext &context, const Plan &plan,
                      GemmShape shape) {
  std::vector<uint64_t> words;
  if (const schema::GemmAlgorithm *known =
          findAlgorithm(plan, source->version(), context.name(), shape)) {
    words.assign(known->data()->begin(), known->data()->end());
  } else {
    MTP_ASSIGN_OR_RETURN(auto offered, source->algorithms(shape, 1));
    if (offered.empty())
      return failedPrecondition("the library has no algorithm");
    words = std::move(offered.front());
  }
  MTP_ASSIGN_OR_RETURN(products[shape], source->make(shape, words));
  return okStatus();
}

Result<std::unique_ptr<PlanGemms>>
PlanGemms::create(const std::shared_ptr<CudaContext> &context,
                  const Plan &plan) {
  std::unique_ptr<PlanGemms> gemms(new PlanGemms());
  MTP_ASSIGN_OR_RETURN(gemms->source, GemmLibrary::open(context));
  for (const GemmShape &shape : gemmShapes(plan))
    if (Status status = gemms->add(*context, plan, shape); !status.isOk())
      return status.withContext(strCat("a product of ", shape.rows, "x",
                                       shape.inputs, " by ", shape.outputs, "x",
                                       shape.inputs));
  return gemms;
}

GemmProduct *PlanGemms::find(const schema::Gemm &gemm, int64_t rows) const {
  auto found = products.find(shapeOf(gemm, rows));
  return found == products.end() ? nullptr : found->second.get();
}
