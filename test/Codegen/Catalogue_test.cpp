//===- Catalogue_test.cpp - Kinds, configs and targets --------------------===//

#include "harness/Harness.h"

#include "compiler/Codegen/CPU/Kernels.h"
#include "compiler/Codegen/CPU/target/Link.h"
#include "compiler/Codegen/GPU/Kernels.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include <gtest/gtest.h>
#include <set>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

// Programs are planned with the exec dialect's kinds, and some target has code
// for each kind, in the shared code or in its own table of emitters.
TEST(Catalogue, EmitsTheKindsOfTheExecDialect) {
  std::set<std::string> emitted{mlir::exec::ControlKernelAttr::kKind.str(),
                                // A vendor's library implements this kind.
                                mlir::exec::GemmKernelAttr::kKind.str()};
  for (const std::vector<llvm::StringRef> &kinds :
       {rowKernelKinds(), cpuKernelKinds(), gpuKernelKinds()})
    for (llvm::StringRef kind : kinds)
      emitted.insert(kind.str());
  std::set<std::string> planned;
  for (llvm::StringRef kind : mlir::exec::allKernelKinds())
    planned.insert(kind.str());
  EXPECT_EQ(emitted, planned);
}

TEST(Catalogue, RefusesParametersThatTheKindDoesNotHave) {
  auto error = [](const char *kind, const char *config) {
    return compileError(kind, config);
  };
  auto expectIn = [](const std::string &text, const char *part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  };
  expectIn(error("add", "width = 4, bias = true"), "unknown");
  expectIn(error("add", "a_stride = 4"), "missing required parameter: width");
  expectIn(error("linear", "k = 4, n = 4, format = <f16>"), "f16");
  expectIn(error("linear", "k = 64, n = 4, format = <int4>"),
           "expected a group of 16 or a multiple of 32 up to 128 for elements "
           "of int4, got 0");
  expectIn(error("embed", "width = 64, vocab = 4, format = <bf16, group = 32>"),
           "expected no group, scales or offset for elements of bf16, got "
           "group 32");
  expectIn(error("rope", "heads = 1, rotation = <dim = 3>"),
           "expected an even number of columns");
  expectIn(error("concat_rows", "width = 8, rows = 2"), "expected '>'");
  expectIn(error("rope_kv_append", "q_heads = 2"), "unknown");
}

namespace {
/// A kernel with an error, and its message.
struct Wrong {
  std::string kind, keys, message;

  std::string config() const { return kind + "," + keys; }
};

const Wrong wrong[] = {
    {"add", "width = 0", "expected width of at least 1, got 0"},
    {"head_linear", "heads = 2, k = 4, n = 4, format = <int8, group = 32>",
     "expected a format of f32 or bf16, got #exec.format<int8, group = "
     "32>"},
    // Panels of another target.
    {"linear", "k = 4, n = 4, format = <f32>, panel = 16",
     "expected panels of 32 outputs, got 16"},
    {"linear",
     "k = 4, n = 4, format = <f32>, activation = swiglu, "
     "bias = true",
     "expected neither bias nor residual with swiglu"},
    {"linear", "k = 64, n = 32, format = <bf16>, prepared = true",
     "expected fragments where rows are prepared"},
    {"linear_argmax",
     "k = 64, n = 32, format = <bf16>, fragments = true, prepared = true, "
     "x_stride = 64",
     "expected neither norm nor x_stride where rows are prepared"},
    {"prepare_rows", "k = 64, format = <int4, group = 64>",
     "expected a format of bf16 or int8, got #exec.format<int4, group = 64>"},
    {"prepare_rows", "k = 40, format = <bf16>",
     "expected a format of bf16, or a group of 32, 64 or 128, and k to be a "
     "multiple of 32 for fragments, got #exec.format<bf16> and 40"},
    {"attention",
     "q_heads = 3, kv_heads = 2, dk = 4, dv = 4, page = 4, "
     "entry_width = 64, dtype = f32, scale = 1.0 : f32",
     "expected q_heads to be a multiple of kv_heads 2, got 3"},
    {"attention",
     "q_heads = 2, kv_heads = 0, dk = 4, dv = 4, page = 4, "
     "entry_width = 64, dtype = f32, scale = 1.0 : f32",
     "expected kv_heads of at least 1, got 0"},
    {"attention",
     "q_heads = 2, kv_heads = 2, dk = 4, dv = 4, page = 4, "
     "entry_width = 64, dtype = f32, scale = 1.0 : f32, split = 96",
     "expected split to be a multiple of 64, got 96"},
    {"attention",
     "q_heads = 4, kv_heads = 4, dk = 4, dv = 4, page = 4, "
     "entry_width = 64, dtype = f32, scale = 1.0 : f32, cache_heads = 2",
     "expected cache_heads to be 1 or kv_heads 4, got 2"},
    {"attention",
     "q_heads = 4, kv_heads = 4, dk = 4, dv = 4, page = 4, "
     "entry_width = 66, dtype = f32, scale = 1.0 : f32, cache_heads = 4",
     "expected entry_width to be a multiple of cache_heads 4, got 66"},
    {"attention",
     "q_heads = 4, kv_heads = 4, dk = 4, dv = 4, page = 4, v_offset = 18, "
     "entry_width = 64, dtype = f32, scale = 1.0 : f32, cache_heads = 4",
     "expected v_offset to be a multiple of cache_heads 4, got 18"},
    {"attention_split_kv",
     "q_heads = 2, kv_heads = 2, dk = 4, dv = 4, page = 4, "
     "entry_width = 64, dtype = f32, scale = 1.0 : f32, split = 32, splits = "
     "2, "
     "split_stride = 96, tasks_per_tile = 2",
     "expected split to be a multiple of 64, got 32"},
    {"attention_split_kv",
     "q_heads = 2, kv_heads = 2, dk = 4, dv = 4, page = 4, "
     "entry_width = 64, dtype = f32, scale = 1.0 : f32, split = 64, splits = "
     "2, "
     "split_stride = 96, tasks_per_tile = 0",
     "expected tasks_per_tile of at least 1, got 0"},
    {"attention_combine",
     "q_heads = 2, kv_heads = 2, dv = 17, dtype = f32, split = 64, "
     "splits = 2, split_stride = 127",
     "expected split_stride to be at least 128, got 127"},
    {"kv_append", "width = 8, entry_offset = 1, dtype = f32, page = 4",
     "expected entry_offset + width to be at most entry_width 8, got 9"},
    {"kv_append",
     "width = 9, entry_width = 64, dtype = f32, page = 4, "
     "cache_heads = 2",
     "expected width to be a multiple of cache_heads 2, got 9"},
    {"kv_append", "width = 8, dtype = f32, page = 4, cache_heads = 0",
     "expected cache_heads of at least 1, got 0"},
    {"kv_move", "entry_width = 9, dtype = f32, page = 4, cache_heads = 2",
     "expected entry_width to be a multiple of cache_heads 2, got 9"},
    {"kv_move", "entry_width = 8, dtype = i16, page = 4",
     "expected a dtype of f32, bf16 or i8, got 'i16'"},
    {"write_state", "width = 8, rows = 0",
     "expected rows of at least 1, got 0"},
    {"sample", "vocab = 8", "expected a kind that a CPU has code for"},
    {"rope_kv_append",
     "k_heads = 2, rotation = <dim = 4>, v_width = 8, k_offset = 0, v_offset "
     "= 8, "
     "dtype = f32, page = 4, cache_heads = 4",
     "expected cache_heads to be 1 or k_heads 2, got 4"},
    {"rope_kv_append",
     "k_heads = 2, rotation = <dim = 4, offset = 1>, head_stride = 4, "
     "v_width = 8, "
     "k_offset = 0, v_offset = 8, dtype = f32, page = 4",
     "expected the rotation's offset + dim to be at most head_stride 4, got "
     "5"},
    {"rope_kv_append",
     "k_heads = 2, rotation = <dim = 4>, v_width = 8, k_offset = 9, v_offset "
     "= 0, "
     "dtype = f32, page = 4",
     "expected k_offset + k_heads * head_stride to be at most entry_width "
     "16, got 17"},
    {"rope_qkv_append",
     "q_heads = 2, k_heads = 2, rotation = <dim = 4>, v_width = 8, k_offset "
     "= 0, "
     "v_offset = 9, dtype = f32, page = 4",
     "expected v_offset + v_width to be at most entry_width 16, got 17"},
    {"head_linear",
     "heads = 2, k = 4, n = 4, format = <f32>, keep_width = 4, "
     "rotation = <dim = 4, offset = 1>",
     "expected the rotation's offset + dim to be at most keep_width 4, got "
     "5"}};

class CatalogueRefuses : public testing::TestWithParam<Wrong> {};
} // namespace

INSTANTIATE_TEST_SUITE_P(Kernels, CatalogueRefuses, testing::ValuesIn(wrong),
                         NamedByConfig());

TEST_P(CatalogueRefuses, NamesWhatIsWrong) {
  const Wrong &c = GetParam();
  EXPECT_EQ(compileError(c.kind, c.keys),
            "kernel 'kernel' of kind '" + c.kind + "': " + c.message);
}

TEST(Target, ParsesNames) {
  TargetDesc v3 = llvm::cantFail(TargetDesc::parse("x86-64-v3"));
  EXPECT_EQ(v3.lanes, 8);
  EXPECT_FALSE(v3.bf16Dot);
  TargetDesc v4 = llvm::cantFail(TargetDesc::parse("x86-64-v4"));
  EXPECT_EQ(v4.lanes, 16);
  EXPECT_FALSE(v4.bf16Dot);
  EXPECT_FALSE(v4.byteDot);
  EXPECT_EQ(v4.requiredFeatures.size(), v3.requiredFeatures.size() + 5);
  TargetDesc zen = llvm::cantFail(TargetDesc::parse("znver4"));
  EXPECT_TRUE(zen.bf16Dot && zen.byteDot && !zen.tiles);
  EXPECT_EQ(zen.requiredFeatures.size(), v4.requiredFeatures.size() + 2);
  TargetDesc tiles = llvm::cantFail(TargetDesc::parse("sapphirerapids"));
  EXPECT_TRUE(tiles.bf16Dot && tiles.byteDot && tiles.tiles);
  EXPECT_EQ(tiles.requiredFeatures.size(), zen.requiredFeatures.size() + 3);
  EXPECT_TRUE(llvm::is_sorted(tiles.requiredFeatures));
  // Kernels may use only the features that the artifact requires.
  TargetDesc native = llvm::cantFail(TargetDesc::parse("native"));
  EXPECT_EQ(native.byteDot,
            llvm::is_contained(native.requiredFeatures, "avx512vnni"));
  EXPECT_EQ(native.tiles,
            llvm::is_contained(native.requiredFeatures, "amx-tile"));
  auto wrong = TargetDesc::parse("z80");
  ASSERT_FALSE(static_cast<bool>(wrong));
  EXPECT_EQ(llvm::toString(wrong.takeError()),
            "expected --target-cpu to be native, x86-64-v3, x86-64-v4, znver4 "
            "or sapphirerapids, got 'z80'");
}

TEST(Link, ReportsWhatIsNotAnObject) {
  auto image = linkSharedImage(llvm::StringRef("not an object"));
  ASSERT_FALSE(static_cast<bool>(image));
  EXPECT_NE(llvm::toString(image.takeError())
                .find("expected an ELF object of kernels"),
            std::string::npos);
}

TEST(Link, AllowsOnlyMemoryFunctions) {
  auto call = [](const std::string &name) {
    return "func.func private @" + name +
           "(!llvm.ptr)\n"
           "func.func @kernel(%p: !llvm.ptr) {\n  call @" +
           name + "(%p) : (!llvm.ptr) -> ()\n  return\n}";
  };
  EXPECT_EQ(compileModuleError(call("expf")),
            "cannot link the kernels: expected no undefined symbols in the "
            "kernel image, got 'expf'");
  EXPECT_EQ(compileModuleError(call("memmove")), "");
}
