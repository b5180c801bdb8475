//===- Catalogue_test.cpp - Kinds, configs and targets --------------------===//

#include "Harness.h"

#include "compiler/Codegen/CPU/Kernels.h"
#include "compiler/Codegen/CPU/Link.h"
#include "compiler/Codegen/KernelCatalogue.h"
#include "dialects/Exec/IR/KernelKinds.h"
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <set>

using namespace mtp::codegen;
using namespace mtp::codegen::test;

// Programs are planned by the exec dialect's catalogue: what it promises must
// be emitted, and nothing else is. Buffers, params and tasks are said there
// alone.
TEST(Catalogue, EmitsTheKindsOfTheExecDialect) {
  std::set<llvm::StringRef> emitted, planned;
  for (llvm::StringRef kind : kernelKinds())
    emitted.insert(kind);
  for (llvm::StringRef kind : mlir::exec::allKernelKinds())
    if (!kind.starts_with(mlir::exec::kBuiltinPrefix))
      planned.insert(kind);
  EXPECT_EQ(emitted, planned);
}

namespace {

using Names = std::set<std::string>;

/// The keys that a kernel must have, and those that it may have.
struct Keys {
  Names needed, optional;

  bool operator==(const Keys &) const = default;
};

std::ostream &operator<<(std::ostream &stream, const Keys &keys) {
  for (const std::string &key : keys.needed)
    stream << key << " ";
  for (const std::string &key : keys.optional)
    stream << "[" << key << "] ";
  return stream;
}

/// Keys as a README's row has them: `a, b, [c, d (default)]`.
Keys parseKeys(llvm::StringRef cell) {
  Keys keys;
  std::string word;
  int depth = 0;
  bool isOptional = false;
  auto finish = [&] {
    llvm::StringRef key = llvm::StringRef(word).trim();
    if (!key.empty())
      (isOptional ? keys.optional : keys.needed).insert(key.str());
    word.clear();
  };
  for (char c : cell) {
    depth += c == '(';
    if (depth == 0 && (c == ',' || c == '[' || c == ']'))
      finish();
    else if (depth == 0)
      word += c;
    isOptional = c == '[' || (isOptional && c != ']');
    depth -= c == ')';
  }
  finish();
  return keys;
}

/// The README's table of kinds.
std::map<std::string, Keys> readKinds() {
  std::map<std::string, Keys> kinds;
  std::ifstream file(MTP_CODEGEN_README);
  std::string line;
  while (std::getline(file, line)) {
    llvm::StringRef row = line;
    if (!row.consume_front("| ") || !row.starts_with("`"))
      continue;
    auto [names, rest] = row.split('|');
    for (llvm::StringRef name : llvm::split(names, ','))
      kinds[name.trim(" `").str()] = parseKeys(rest.split('|').first);
  }
  return kinds;
}

} // namespace

TEST(Catalogue, HasItsKeysInTheReadme) {
  std::map<std::string, Keys> written = readKinds(), known;
  for (llvm::StringRef kind : kernelKinds()) {
    Keys &keys = known[kind.str()];
    for (const ConfigKey &key : findKind(kind)->keys)
      // The README has a sentence for these, which every kind may have that
      // finds rows by numbers that it reads.
      if (key.name != "slots" && key.name != "positions")
        (key.required ? keys.needed : keys.optional).insert(key.name.str());
  }
  for (const auto &[kind, keys] : known)
    EXPECT_EQ(written[kind], keys) << kind;
  EXPECT_EQ(written.size(), known.size());
}

TEST(Catalogue, NamesWhatIsWrong) {
  struct {
    const char *kind, *config, *message;
  } cases[] = {
      {"softmax", "", "unknown kernel kind"},
      {"add", "width = 4, bias = true", "unknown config key 'bias'"},
      {"add", "", "expected config key 'width'"},
      {"add", "width = \"4\"",
       "expected an integer for config key 'width', got \"4\""},
      {"add", "width = 0",
       "expected config key 'width' to be at least 1, got 0"},
      {"linear", "k = 4, n = 4, dtype = \"f16\"",
       "expected one of f32|bf16|int8|int4 for config key 'dtype', got "
       "'f16'"},
      {"head_linear", "heads = 2, k = 4, n = 4, dtype = \"int8\"",
       "expected one of f32|bf16 for config key 'dtype', got 'int8'"},
      // Panels of another target.
      {"linear", "k = 4, n = 4, dtype = \"f32\", panel = 16",
       "unknown config key 'panel'"},
      {"linear", "k = 64, n = 4, dtype = \"int4\"",
       "expected config key 'group' to be a multiple of 32 up to 128 for dtype "
       "'int4', got 0"},
      {"moe_down",
       "experts = 2, top_k = 1, k = 64, n = 4, dtype = \"int8\", group = 48",
       "expected config key 'group' to be a multiple of 32 up to 128 for dtype "
       "'int8', got 48"},
      {"moe_gate_up",
       "experts = 2, top_k = 1, k = 64, inter = 4, dtype = \"bf16\", "
       "group = 32",
       "expected no config key 'group' for dtype 'bf16', got 32"},
      {"embed", "width = 64, vocab = 4, dtype = \"int8\"",
       "expected config key 'group' to be a multiple of 32 up to 128 for dtype "
       "'int8', got 0"},
      {"linear",
       "k = 4, n = 4, dtype = \"f32\", activation = \"swiglu\", "
       "bias = true",
       "expected neither bias nor residual with swiglu"},
      {"attention",
       "q_heads = 3, kv_heads = 2, dk = 4, dv = 4, page = 4, "
       "entry_width = 64, dtype = \"f32\", scale = 1.0",
       "expected q_heads to be a multiple of kv_heads 2, got 3"},
      {"attention",
       "q_heads = 2, kv_heads = 0, dk = 4, dv = 4, page = 4, "
       "entry_width = 64, dtype = \"f32\", scale = 1.0",
       "expected config key 'kv_heads' to be at least 1, got 0"},
      {"attention",
       "q_heads = 2, kv_heads = 2, dk = 4, dv = 4, page = 4, "
       "entry_width = 64, dtype = \"f32\", scale = 1.0, part = 96",
       "expected part to be a multiple of 64, got 96"},
      {"attention",
       "q_heads = 4, kv_heads = 4, dk = 4, dv = 4, page = 4, "
       "entry_width = 64, dtype = \"f32\", scale = 1.0, cache_heads = 2",
       "expected cache_heads to be 1 or kv_heads 4, got 2"},
      {"attention",
       "q_heads = 4, kv_heads = 4, dk = 4, dv = 4, page = 4, "
       "entry_width = 66, dtype = \"f32\", scale = 1.0, cache_heads = 4",
       "expected entry_width to be a multiple of cache_heads 4, got 66"},
      {"attention",
       "q_heads = 4, kv_heads = 4, dk = 4, dv = 4, page = 4, v_offset = 18, "
       "entry_width = 64, dtype = \"f32\", scale = 1.0, cache_heads = 4",
       "expected v_offset to be a multiple of cache_heads 4, got 18"},
      {"attention_parts",
       "q_heads = 2, kv_heads = 2, dk = 4, dv = 4, page = 4, "
       "entry_width = 64, dtype = \"f32\", scale = 1.0, part = 0, parts = 2, "
       "part_stride = 96, splits = 2",
       "expected part to be a multiple of 64, got 0"},
      {"attention_parts",
       "q_heads = 2, kv_heads = 2, dk = 4, dv = 4, page = 4, "
       "entry_width = 64, dtype = \"f32\", scale = 1.0, part = 64, parts = 2, "
       "part_stride = 96, splits = 0",
       "expected config key 'splits' to be at least 1, got 0"},
      {"attention_join",
       "q_heads = 2, kv_heads = 2, dv = 17, dtype = \"f32\", part = 64, "
       "parts = 2, part_stride = 127",
       "expected part_stride to be at least 128, got 127"},
      {"rope", "heads = 1, dim = 3", "expected an even dim, got 3"},
      {"kv_append", "width = 8, entry_offset = 1, dtype = \"f32\", page = 4",
       "expected entry_offset + width to be at most entry_width 8, got 9"},
      {"kv_append",
       "width = 9, entry_width = 64, dtype = \"f32\", page = 4, "
       "cache_heads = 2",
       "expected width to be a multiple of cache_heads 2, got 9"},
      {"kv_append", "width = 8, dtype = \"f32\", page = 4, cache_heads = 0",
       "expected config key 'cache_heads' to be at least 1, got 0"},
      {"kv_move", "entry_width = 9, dtype = \"f32\", page = 4, cache_heads = 2",
       "expected entry_width to be a multiple of cache_heads 2, got 9"},
      {"kv_move", "entry_width = 8, dtype = \"int8\", page = 4",
       "expected one of f32|bf16 for config key 'dtype', got 'int8'"},
      {"read_state", "width = 8", "expected config key 'rows'"},
      {"write_state", "width = 8, rows = 0",
       "expected config key 'rows' to be at least 1, got 0"},
      {"write_state_at", "rows = 4", "expected config key 'width'"},
      {"concat_rows", "width = 8, rows = 2", "unknown config key 'rows'"},
      {"exclude", "width = 8, x_stride = 9", "unknown config key 'x_stride'"},
      {"sample_scan", "vocab = 8", "expected config key 'parts'"},
      {"sample", "vocab = 8", "expected a kind that a CPU has code for"},
      {"rope_kv_append",
       "k_heads = 2, dim = 4, v_width = 8, k_offset = 0, v_offset = 8, "
       "dtype = \"f32\", page = 4, cache_heads = 4",
       "expected cache_heads to be 1 or k_heads 2, got 4"},
      {"rope_kv_append",
       "k_heads = 2, dim = 4, offset = 1, head_stride = 4, v_width = 8, "
       "k_offset = 0, v_offset = 8, dtype = \"f32\", page = 4",
       "expected offset + dim to be at most head_stride 4, got 5"},
      {"rope_kv_append",
       "k_heads = 2, dim = 4, v_width = 8, k_offset = 9, v_offset = 0, "
       "dtype = \"f32\", page = 4",
       "expected k_offset + k_heads * head_stride to be at most entry_width "
       "16, got 17"},
      {"rope_qkv_append",
       "q_heads = 2, k_heads = 2, dim = 4, v_width = 8, k_offset = 0, "
       "v_offset = 9, dtype = \"f32\", page = 4",
       "expected v_offset + v_width to be at most entry_width 16, got 17"},
      {"rope_kv_append",
       "q_heads = 2, k_heads = 2, dim = 4, v_width = 8, k_offset = 0, "
       "v_offset = 8, dtype = \"f32\", page = 4",
       "unknown config key 'q_heads'"},
      {"head_linear",
       "heads = 2, k = 4, n = 4, dtype = \"f32\", keep_width = 4, "
       "rotate = true",
       "expected config key 'dim' where there is 'rotate'"},
      {"head_linear",
       "heads = 2, k = 4, n = 4, dtype = \"f32\", keep_width = 4, "
       "rotate = true, dim = 4, offset = 1",
       "expected offset + dim to be at most keep_width 4, got 5"}};
  for (const auto &c : cases) {
    std::string want =
        std::string("kernel 'kernel' of kind '") + c.kind + "': " + c.message;
    EXPECT_EQ(compileError(c.kind, c.config), want);
  }
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
  // What the kernels may use is what the artifact asks for.
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
  auto image = linkSharedImage("not an object");
  ASSERT_FALSE(static_cast<bool>(image));
  EXPECT_NE(llvm::toString(image.takeError()).find("lld failed"),
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
