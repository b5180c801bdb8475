//===- GpuProducts_test.cpp - PTX of products -----------------------------===//
//
// Checks that do not need a GPU: the PTX of products at the widths of whole
// models, and the report of ptxas.
//
//===----------------------------------------------------------------------===//

#include "harness/Harness.h"

#include "compiler/Codegen/GPU/Kernels.h"
#include "compiler/Codegen/GPU/target/EmitPtx.h"
#include "compiler/Codegen/GPU/target/GpuModule.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Regex.h"
#include <cstdlib>
#include <gtest/gtest.h>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

namespace {
struct Product {
  const char *kind, *config;
};
} // namespace

/// Every format and form, at the widths of Llama 1B and 8B and DeepSeek-V3.
static const Product products[] = {
    {"linear", "k = 2048, n = 3072, format = <bf16>, norm = true, "
               "fragments = true, eps = 1.0e-5 : f32"},
    {"linear", "k = 4096, n = 28672, format = <bf16>, norm = true, "
               "fragments = true, eps = 1.0e-5 : f32, activation = swiglu"},
    {"linear", "k = 14336, n = 4096, format = <bf16>, residual = true, "
               "fragments = true"},
    {"linear_argmax", "k = 4096, n = 128256, format = <bf16>, norm = true, "
                      "fragments = true, eps = 1.0e-5 : f32, logits = true, "
                      "slots = 8"},
    {"head_linear", "heads = 128, k = 128, n = 512, format = <bf16>, "
                    "fragments = true"},
    {"moe_gate_up", "experts = 256, k = 7168, inter = 2048, top_k = 8, "
                    "fragments = true, format = <bf16>"},
    {"moe_down", "experts = 256, k = 2048, n = 7168, top_k = 8, "
                 "fragments = true, format = <bf16>"},
    {"linear", "k = 4096, n = 28672, format = <int8, group = 64>, "
               "fragments = true, norm = true, eps = 1.0e-5 : f32, "
               "activation = swiglu"},
    {"linear", "k = 4096, n = 6144, format = <int8, group = 64>, "
               "fragments = true, norm = true, eps = 1.0e-5 : f32"},
    {"linear", "k = 14336, n = 4096, format = <int8, group = 64>, "
               "fragments = true, residual = true, bias = true"},
    {"linear", "k = 4096, n = 28672, format = <int8, group = 128>, "
               "fragments = true, norm = true, eps = 1.0e-5 : f32, "
               "activation = swiglu"},
    {"linear", "k = 14336, n = 4096, format = <int8, group = 32>, "
               "fragments = true"},
    {"linear_argmax", "k = 4096, n = 128256, format = <int8, group = 64>, "
                      "fragments = true, norm = true, eps = 1.0e-5 : f32, "
                      "logits = true, slots = 8"},
    {"linear", "k = 4096, n = 28672, format = <int4, group = 64>, "
               "fragments = true, norm = true, eps = 1.0e-5 : f32, "
               "activation = swiglu"},
    {"linear", "k = 14336, n = 4096, format = <int4, group = 64>, "
               "fragments = true, residual = true"},
    {"linear", "k = 4096, n = 6144, format = <int4, group = 128>, "
               "fragments = true, norm = true, eps = 1.0e-5 : f32"},
    {"linear", "k = 4096, n = 6144, format = <int4, group = 32>, "
               "fragments = true, norm = true, eps = 1.0e-5 : f32"},
    {"linear_argmax", "k = 7168, n = 129280, format = <int4, group = 128>, "
                      "fragments = true"},
    // The last group has 32 inputs, or 96.
    {"linear", "k = 10976, n = 4096, format = <int4, group = 64>, "
               "fragments = true"},
    {"linear", "k = 11104, n = 4096, format = <int8, group = 128>, "
               "fragments = true, activation = swiglu"},
    {"moe_gate_up", "experts = 256, k = 7168, inter = 2048, top_k = 8, "
                    "fragments = true, format = <int4, group = 64>"},
    {"moe_down", "experts = 256, k = 2048, n = 7168, top_k = 8, "
                 "fragments = true, format = <int8, group = 64>"},
    {"linear", "k = 2048, n = 3072, format = <bf16>, norm = true, "
               "eps = 1.0e-5 : f32"},
    {"linear", "k = 4096, n = 28672, format = <bf16>, norm = true, "
               "eps = 1.0e-5 : f32, activation = swiglu"},
    {"linear", "k = 14336, n = 4096, format = <bf16>, residual = true"},
    {"linear", "k = 4096, n = 28672, format = <int8, group = 128>, "
               "norm = true, eps = 1.0e-5 : f32, activation = swiglu"},
    {"linear", "k = 14336, n = 4096, format = <int8, group = 64>, "
               "residual = true, bias = true"},
    {"linear", "k = 4096, n = 28672, format = <int4, group = 128>, "
               "norm = true, eps = 1.0e-5 : f32, activation = swiglu"},
    {"linear", "k = 14336, n = 4096, format = <int4, group = 32>"},
    {"linear", "k = 7168, n = 256, format = <f32>, norm = true, "
               "eps = 1.0e-6 : f32"},
    {"linear", "k = 75, n = 74, format = <f32>, activation = swiglu"},
    {"linear", "k = 75, n = 74, format = <f32>, activation = geglu_tanh"},
    {"linear", "k = 640, n = 4096, format = <bf16>, norm = true, "
               "fragments = true, eps = 1.0e-6 : f32, offset = 1, "
               "activation = geglu_tanh"},
    {"linear_argmax", "k = 4096, n = 128256, format = <bf16>, norm = true, "
                      "eps = 1.0e-5 : f32, logits = true, slots = 8"},
    {"linear_argmax", "k = 4096, n = 128256, format = <int4, group = 64>"},
    {"head_linear",
     "heads = 128, k = 128, n = 512, format = <bf16>, x_head_stride = 192, "
     "keep_width = 64, keep_offset = 128, "
     "rotation = <dim = 64, layout = interleaved>, y_head_stride = 576, "
     "positions = 4096"},
    {"head_linear", "heads = 128, k = 512, n = 128, format = <bf16>"},
    {"moe_gate_up", "experts = 256, k = 7168, inter = 2048, top_k = 8, "
                    "format = <bf16>"},
    {"moe_gate_up", "experts = 256, k = 7168, inter = 2048, top_k = 8, "
                    "format = <int4, group = 64>"},
    {"moe_down", "experts = 256, k = 2048, n = 7168, top_k = 8, "
                 "format = <int8, group = 64>"}};

/// Returns all products in one module, as PTX.
static std::string compileProducts() {
  mlir::DialectRegistry registry;
  mtp::gpu::registerGpuDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  mlir::OpBuilder builder(&context);
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(builder.getUnknownLoc());
  builder.setInsertionPointToEnd(module->getBody());
  auto kernels = mlir::gpu::GPUModuleOp::create(
      builder, builder.getUnknownLoc(), "kernels");
  for (auto [i, product] : llvm::enumerate(products)) {
    KernelSpec spec{"product_" + std::to_string(i),
                    parseKernel(product.kind, product.config, context)};
    EXPECT_TRUE(succeeded(emitGpuKernel(builder, kernels, spec)))
        << product.kind << " " << product.config;
  }
  EXPECT_TRUE(succeeded(mtp::gpu::lowerGpuModules(*module)));
  llvm::LLVMContext llvmContext;
  auto translated = mtp::gpu::translateGpuModule(kernels, llvmContext);
  if (!translated)
    return "";
  return llvm::cantFail(mtp::gpu::emitPtx(*translated, "sm_90"));
}

/// Returns the text of each kernel.
static std::vector<std::string> splitKernels(const std::string &ptx) {
  std::vector<std::string> kernels;
  constexpr const char *entry = ".visible .entry ";
  for (size_t at = ptx.find(entry); at != std::string::npos;) {
    size_t next = ptx.find(entry, at + 1);
    kernels.push_back(ptx.substr(at, next - at));
    at = next;
  }
  return kernels;
}

TEST(GpuProducts, AssembleWithoutSpills) {
  std::string ptx = compileProducts();
  std::vector<std::string> kernels = splitKernels(ptx);
  ASSERT_EQ(kernels.size(), std::size(products));
  for (auto [i, text] : llvm::enumerate(kernels)) {
    const Product &product = products[i];
    SCOPED_TRACE(std::string(product.kind) + " " + product.config);
    size_t wait = text.find("griddepcontrol.wait");
    size_t load = text.find("ld.global."), store = text.find("st.global");
    ASSERT_NE(wait, std::string::npos);
    EXPECT_GT(store, wait);
    // A block knows only after the wait which expert's weights it reads.
    bool isExpert = llvm::StringRef(product.kind).starts_with("moe_");
    EXPECT_EQ(load < wait, !isExpert);
    llvm::StringRef config = product.config;
    if (config.contains("fragments")) {
      EXPECT_NE(text.find(config.contains("bf16")
                              ? "mma.sync.aligned.m16n8k16.row.col.f32.bf16"
                              : "mma.sync.aligned.m16n8k32.row.col.s32.s8"),
                std::string::npos);
      // A lane has 8 bytes of a group of 32 inputs in int4.
      bool isShort = config.contains("int4") && config.contains("group = 32");
      std::string weights = "ld.global.L1::no_allocate.v4.b32";
      if (isShort)
        weights.replace(weights.find("v4"), 2, "v2");
      size_t first = text.find(weights);
      ASSERT_NE(first, std::string::npos);
      EXPECT_EQ(first < wait, !isExpert);
    }
    EXPECT_EQ(text.find(".local"), std::string::npos);
    EXPECT_EQ(text.find("atom"), std::string::npos);
  }
  auto cubin = llvm::cantFail(mtp::gpu::assemblePtx(ptx, "sm_90"));
  if (cubin.bytes.empty()) {
    EXPECT_EQ(std::getenv("MTP_REQUIRE_CUDA"), nullptr) << cubin.absence;
    GTEST_SKIP() << cubin.absence;
  }
  llvm::Regex spills("[1-9][0-9]* bytes (stack|spill|lmem)");
  EXPECT_FALSE(spills.match(cubin.report)) << cubin.report;
}
