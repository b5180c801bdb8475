//===- KernelContract.cpp - What a kernel may touch -----------------------===//

#include "dialects/Exec/IR/KernelContract.h"
#include "dialects/Exec/IR/ExecOps.h"
#include "runtime/schema/QuantizedPanel.h"
#include "runtime/schema/SamplingWords.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/Twine.h"
#include <map>

using namespace mlir;
using namespace mlir::exec;

//===----------------------------------------------------------------------===//
// Extent
//===----------------------------------------------------------------------===//

Extent::Extent(int64_t constant) {
  if (constant != 0)
    sum.push_back({constant});
}

Extent Extent::param(int index) {
  Extent extent;
  extent.sum.push_back({1, index});
  return extent;
}

void Extent::add(Term term) {
  for (Term &other : sum) {
    if (other.first == term.first && other.second == term.second) {
      overflowed |=
          __builtin_add_overflow(other.factor, term.factor, &other.factor);
      return;
    }
  }
  sum.push_back(term);
}

Extent mlir::exec::operator+(const Extent &a, const Extent &b) {
  Extent result = a;
  result.overflowed |= b.overflowed;
  for (Extent::Term term : b.sum)
    result.add(term);
  return result;
}

Extent mlir::exec::operator-(const Extent &a, const Extent &b) {
  return a + b * Extent(-1);
}

Extent mlir::exec::operator*(const Extent &a, const Extent &b) {
  Extent result;
  result.overflowed = a.overflowed || b.overflowed;
  for (Extent::Term left : a.sum) {
    for (Extent::Term right : b.sum) {
      assert((left.second < 0 || right.first < 0) &&
             (right.second < 0 || left.first < 0) &&
             "expected products of at most two params");
      SmallVector<int, 4> params;
      for (int param : {left.first, left.second, right.first, right.second})
        if (param >= 0)
          params.push_back(param);
      llvm::sort(params);
      params.resize(2, -1);
      Extent::Term term{0, params[0], params[1]};
      result.overflowed |=
          __builtin_mul_overflow(left.factor, right.factor, &term.factor);
      result.add(term);
    }
  }
  return result;
}

std::optional<int64_t> Extent::evaluate(llvm::ArrayRef<int64_t> params) const {
  int64_t total = 0;
  bool failed = overflowed;
  for (Term term : sum) {
    int64_t value = term.factor;
    for (int param : {term.first, term.second})
      if (param >= 0)
        failed |= __builtin_mul_overflow(value, params[param], &value);
    failed |= __builtin_add_overflow(total, value, &total);
  }
  return failed ? std::nullopt : std::optional(total);
}

std::string CacheEntries::describe() const {
  return ("page " + llvm::Twine(page) + ", entry " + llvm::Twine(width) +
          ", heads " + llvm::Twine(heads) + ", " + (isBF16 ? "bf16" : "f32"))
      .str();
}

//===----------------------------------------------------------------------===//
// ContractWriter
//===----------------------------------------------------------------------===//

namespace {

/// No param is larger than this: rows, slots, positions and their likes.
constexpr int64_t kMostParam = int64_t(1) << 30;

/// Writes one contract, buffer after buffer in their order.
class ContractWriter {
public:
  ContractWriter(llvm::StringRef kind, DictionaryAttr config)
      : kind(kind), config(config) {}

  /// An integer of the configuration that must be there, or one that may.
  int64_t need(llvm::StringRef key);
  int64_t get(llvm::StringRef key, int64_t absent) const {
    return config.contains(key) ? configInt(config, key) : absent;
  }
  bool flag(llvm::StringRef key) const { return configInt(config, key) != 0; }
  llvm::StringRef text(llvm::StringRef key) const {
    auto value = config.getAs<StringAttr>(key);
    return value ? value.getValue() : llvm::StringRef();
  }

  BufferContract &bytes(const Extent &extent) {
    contract.buffers.push_back({extent});
    return contract.buffers.back();
  }
  /// So many elements of 32 bits.
  BufferContract &words(const Extent &count) { return bytes(count * 4); }
  /// Rows of `width` elements of 32 bits, `stride` elements apart.
  BufferContract &rows(const Extent &count, int64_t stride, int64_t width,
                       int64_t offset = 0) {
    return words((count - 1) * stride + width + offset);
  }
  /// `stack` packed matrices of k inputs and n outputs.
  void weight(int64_t k, int64_t n, int64_t stack = 1, bool gated = false);
  void table(int64_t width, int64_t count);
  /// What finds the entries of M rows: slots, positions, the page table and a
  /// layer's pages.
  void cache(int64_t entryWidth);
  /// One param must lie in [least, most].
  void limit(int param, int64_t least, int64_t most) {
    limits[param] = {least, most};
  }

  void headProjection();
  void projection();
  void appendRotated();
  void attention();
  void experts();
  void stateRows();
  void moveEntries();
  void gathering();
  void elementwise();

  KernelContract finish();

private:
  using Family = void (ContractWriter::*)();
  static Family familyOf(llvm::StringRef kind);
  /// So many words each.
  void all(std::initializer_list<Extent> counts);
  int64_t panelBytes(int64_t k) const;

  llvm::StringRef kind;
  DictionaryAttr config;
  KernelContract contract;
  std::map<int, ParamRange> limits;

  const Extent m = Extent::param(0), p1 = Extent::param(1),
               p2 = Extent::param(2);
};

} // namespace

int64_t ContractWriter::need(llvm::StringRef key) {
  int64_t value = configInt(config, key);
  if (value < 1 && contract.error.empty()) {
    contract.error = ("expected config key '" + key +
                      "' of at least 1 for kind '" + kind + "'")
                         .str();
  }
  return value;
}

int64_t ContractWriter::panelBytes(int64_t k) const {
  llvm::StringRef dtype = text("dtype");
  if (dtype == "int8" || dtype == "int4") {
    int64_t group = std::max<int64_t>(configInt(config, "group"), 1);
    return ::mtp::QuantizedPanel{dtype == "int8" ? 8 : 4, group, k}.bytes();
  }
  return configPanelWidth(config) * (dtype == "bf16" ? (k + 1) / 2 * 4 : k * 4);
}

void ContractWriter::weight(int64_t k, int64_t n, int64_t stack, bool gated) {
  int64_t panels =
      gated ? 2 * configPanels(config, n / 2) : configPanels(config, n);
  bytes(Extent(panelBytes(k)) * panels * stack);
}

void ContractWriter::table(int64_t width, int64_t count) {
  llvm::StringRef dtype = text("dtype");
  int64_t row = panelBytes(width) / configPanelWidth(config);
  bytes(Extent(dtype == "bf16" ? width * 2 : row) * count);
}

void ContractWriter::cache(int64_t entryWidth) {
  words(m); // slots
  words(m); // positions
  words(p1 * need("slots")).isPageTable = true;
  bytes(0).entries = {need("page"), entryWidth, get("cache_heads", 1),
                      text("dtype") == "bf16"};
  limit(1, 1, kMostParam);
}

//===----------------------------------------------------------------------===//
// Families of kinds
//===----------------------------------------------------------------------===//

void ContractWriter::headProjection() {
  int64_t k = need("k"), n = need("n");
  int64_t heads = need("heads"), xHead = get("x_head_stride", k);
  int64_t yHead = get("y_head_stride", n), kept = get("keep_width", 0);
  int64_t width =
      std::max(get("x_offset", 0) + k, kept ? get("keep_offset", 0) + kept : 0);
  rows(m, get("x_stride", heads * xHead), (heads - 1) * xHead + width);
  weight(k, n, heads);
  if (flag("rotate")) {
    words(Extent(need("positions")) * need("dim"));
    words(m);
  }
  rows(m, get("y_stride", heads * yHead), (heads - 1) * yHead + n + kept,
       get("y_offset", 0));
}

/// linear and linear_argmax.
void ContractWriter::projection() {
  int64_t k = need("k"), n = need("n"), parts = configPanels(config, n);
  bool gated = text("activation") == "swiglu";
  int64_t outputs = gated ? n / 2 : n;
  rows(m, get("x_stride", k), k);
  if (flag("norm"))
    words(k);
  weight(k, n, /*stack=*/1, gated);
  if (flag("bias"))
    words(n);
  if (kind == "linear") {
    if (flag("residual"))
      rows(m, get("residual_stride", outputs), outputs);
    rows(m, get("y_stride", outputs), outputs);
    return;
  }
  if (flag("logits")) {
    words(m);
    words(Extent(need("slots")) * ::mtp::kSamplingWords);
  }
  words(m * parts);
  words(m * parts);
  if (flag("logits"))
    words(m * n);
}

/// rope, kv_append, rope_kv_append and rope_qkv_append.
void ContractWriter::appendRotated() {
  if (kind == "kv_append") {
    int64_t width = need("width");
    rows(m, get("x_stride", width), width);
    return cache(get("entry_width", width));
  }
  int64_t dim = need("dim"), head = get("head_stride", dim);
  auto angles = [&] {
    words(Extent(need("positions")) * dim);
    words(m);
  };
  if (kind == "rope") {
    int64_t heads = need("heads"), all = heads * head;
    int64_t width = (heads - 1) * head + get("copy_width", head);
    rows(m, get("x_stride", all), width);
    angles();
    rows(m, get("y_stride", all), width);
    return;
  }
  int64_t queries = get("q_heads", 0) * head;
  int64_t keys = need("k_heads") * head, values = need("v_width");
  if (queries)
    rows(m, get("q_stride", queries), queries);
  rows(m, get("k_stride", keys), keys);
  rows(m, get("v_stride", values), values);
  angles();
  cache(get("entry_width", keys + values));
  if (queries)
    rows(m, get("y_stride", queries), queries);
}

void ContractWriter::attention() {
  int64_t heads = need("q_heads"), dv = need("dv");
  auto results = [&] { rows(m, get("y_stride", heads * dv), heads * dv); };
  auto parts = [&] { words(m * need("parts") * need("part_stride")); };
  if (kind == "attention_join") {
    words(m);
    parts();
    return results();
  }
  int64_t queries = heads * need("dk");
  rows(m, get("q_stride", queries), queries);
  cache(need("entry_width"));
  if (kind == "attention_tree") {
    int64_t block = get("block", 0);
    bytes((block ? Extent(block) : p2) * 8).alignment = 8;
    limit(2, 1, 64);
  }
  kind == "attention_parts" ? parts() : results();
}

void ContractWriter::experts() {
  if (kind == "moe_combine") {
    int64_t width = need("width"), topK = need("top_k");
    words(m);
    words(m * topK);
    words(m * topK * width);
    for (llvm::StringRef added : {"residual", "shared"})
      if (flag(added))
        words(m * width);
    words(m * width);
    return;
  }
  int64_t experts = need("experts"), topK = need("top_k");
  if (kind == "moe_route") {
    rows(m, get("x_stride", experts), experts);
    if (flag("bias"))
      words(experts);
    words(m * topK);
    words(m * topK);
  } else if (kind == "moe_plan") {
    words(m);
    words(m * topK);
    words(experts + 1);
    words(m * topK);
  } else {
    bool down = kind == "moe_down";
    int64_t k = need("k"), n = need(down ? "n" : "inter");
    down ? words(m * topK * k) : rows(m, get("x_stride", k), k);
    weight(k, down ? n : 2 * n, experts, /*gated=*/!down);
    words(experts + 1);
    words(m * topK);
    words(m * topK * n);
  }
}

void ContractWriter::all(std::initializer_list<Extent> counts) {
  for (const Extent &count : counts)
    words(count);
}

/// Rows of slots. Params are b, and as many rows for each; of write_state_at
/// the rows of the operand, of concat_rows those of the second operand.
void ContractWriter::stateRows() {
  const Extent &b = m, &n = p1;
  int64_t width = need("width");
  limit(1, 1, kMostParam);
  if (kind == "concat_rows") {
    limit(2, 1, kMostParam);
    return all({b * n * width, b * p2 * width, b * (n + p2) * width});
  }
  int64_t rows = need("rows");
  Extent state = Extent(need("slots")) * rows * width;
  limit(1, 1, rows);
  if (kind == "read_state")
    return all({b, state, b * n * width});
  if (kind == "write_state")
    return all({b * n * width, b, state});
  limit(2, 1, kMostParam);
  all({p2 * width, b * n, b, state});
}

/// kv_move: positions that entries go from and to, as many for each slot.
void ContractWriter::moveEntries() {
  words(m);
  words(m * p2);
  words(m * p2);
  words(p1 * need("slots")).isPageTable = true;
  bytes(0).entries = {need("page"), need("entry_width"), get("cache_heads", 1),
                      text("dtype") == "bf16"};
  limit(1, 1, kMostParam);
  limit(2, 1, kMostParam);
}

/// What puts rows together or picks from them.
void ContractWriter::gathering() {
  if (kind == "argmax_parts") {
    Extent parts = m * need("parts");
    return all({parts, parts, m});
  }
  if (kind == "concat") {
    int64_t a = need("a_width"), b = need("b_width");
    rows(m, get("a_stride", a), a);
    rows(m, get("b_stride", b), b);
    rows(m, get("y_stride", a + b), a + b);
    return;
  }
  int64_t width = need("width");
  bool takes = kind == "take_rows";
  rows(takes ? p1 : m, get("x_stride", width), width);
  words(m);
  if (takes) {
    words(m * width);
    limit(1, 1, kMostParam);
  }
}

/// What goes row by row: embeddings, norms, sums, gates and copies.
void ContractWriter::elementwise() {
  int64_t width = need("width");
  if (kind == "embed") {
    table(width, need("vocab"));
    words(m);
    words(m * width);
  } else if (kind == "mask_first" || kind == "exclude") {
    all({m * width, m, m * width});
  } else if (kind == "rms_norm") {
    int64_t all = width * get("groups", 1);
    rows(m, get("x_stride", all), all);
    words(width);
    rows(m, get("y_stride", all), all);
  } else if (kind == "copy_cols") {
    rows(m, get("x_stride", width), width, get("x_offset", 0));
    rows(m, get("y_stride", width), width, get("y_offset", 0));
  } else {
    rows(m, get("a_stride", width), width);
    rows(m, get("b_stride", width), width);
    rows(m, get("y_stride", width), width);
  }
}

ContractWriter::Family ContractWriter::familyOf(llvm::StringRef kind) {
  if (kind == "head_linear")
    return &ContractWriter::headProjection;
  if (kind.starts_with("linear"))
    return &ContractWriter::projection;
  if (kind == "rope" || kind.ends_with("_append"))
    return &ContractWriter::appendRotated;
  if (kind.starts_with("attention"))
    return &ContractWriter::attention;
  if (kind.starts_with("moe_"))
    return &ContractWriter::experts;
  return llvm::StringSwitch<Family>(kind)
      .Case("kv_move", &ContractWriter::moveEntries)
      .Cases({"read_state", "write_state", "write_state_at", "concat_rows"},
             &ContractWriter::stateRows)
      .Cases({"concat", "take_rows", "argmax", "argmax_parts"},
             &ContractWriter::gathering)
      .Default(&ContractWriter::elementwise);
}

KernelContract ContractWriter::finish() {
  KernelSignature signature = *kernelSignature(kind, config);
  (this->*familyOf(kind))();
  int64_t inputs = signature.buffers - signature.outputs;
  if (int64_t(contract.buffers.size()) != signature.buffers) {
    contract.error = ("kind '" + kind + "' has no contract").str();
    return contract;
  }
  for (auto [i, buffer] : llvm::enumerate(contract.buffers)) {
    buffer.isWritten = int64_t(i) >= inputs || updatesBuffer(kind, i);
    if (buffer.bytes.hasOverflowed() && contract.error.empty()) {
      contract.error = ("the bytes of buffer " + llvm::Twine(i) + " of kind '" +
                        kind + "' do not fit 64 bits")
                           .str();
    }
  }
  for (int param = 0; param < signature.params; ++param) {
    auto found = limits.find(param);
    contract.params.push_back(found == limits.end() ? ParamRange{1, kMostParam}
                                                    : found->second);
  }
  contract.tasks = taskShape(kind, config);
  return contract;
}

std::optional<KernelContract>
mlir::exec::kernelContract(llvm::StringRef kind, DictionaryAttr config) {
  if (!kernelSignature(kind, config) || kind.starts_with(kBuiltinPrefix))
    return std::nullopt;
  return ContractWriter(kind, config).finish();
}

/// Of each buffer all of it, or the rows of the tasks: a body's indices stay
/// within the extents of its buffers (`verifyControlKernel`).
static KernelContract controlContract(KernelOp kernel) {
  KernelContract contract;
  int64_t reads = configInt(kernel.getConfig(), "reads");
  for (auto [i, argument] : llvm::enumerate(kernel.getBuffers())) {
    auto type = cast<MemRefType>(argument.getType());
    int64_t bytes = type.getElementTypeBitWidth() / 8;
    BufferContract buffer;
    buffer.alignment = bytes;
    buffer.isWritten = int64_t(i) >= reads;
    bool hasRows = !type.hasStaticShape();
    Extent total = bytes;
    for (int64_t dim : type.getShape().drop_front(hasRows))
      total = total * Extent(dim);
    buffer.bytes = hasRows ? Extent::param(0) * total : total;
    if (buffer.bytes.hasOverflowed())
      contract.error =
          ("the bytes of buffer " + llvm::Twine(i) + " do not fit 64 bits")
              .str();
    contract.buffers.push_back(buffer);
  }
  contract.params = {{1, kMostParam}};
  contract.tasks = taskShape(kControlKind, kernel.getConfig());
  return contract;
}

std::optional<KernelContract> mlir::exec::kernelContract(KernelOp kernel) {
  return kernel.hasBody()
             ? controlContract(kernel)
             : kernelContract(kernel.getKind(), kernel.getConfig());
}
