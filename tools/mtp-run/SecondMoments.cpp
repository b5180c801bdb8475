//===- SecondMoments.cpp - Statistics of rows -----------------------------===//

#include "tools/mtp-run/SecondMoments.h"
#include "runtime/json/JsonWriter.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

using namespace mtp;

// Elements of a vector never meet, so all versions compute equal bits. The
// thread sanitizer does not allow a choice at load time.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define MTP_CLONES                                                             \
  [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define MTP_CLONES
#endif

namespace {

typedef float Lanes __attribute__((vector_size(64)));
constexpr size_t kLanes = 16;
/// Rows and columns of the sums that are kept in registers.
constexpr size_t kTileRows = 6, kTileColumns = 2 * kLanes;
/// Rows of the sums that a thread takes at a time.
constexpr size_t kTaskRows = 10 * kTileRows;

/// The rows of a kind that are summed next.
struct Block {
  const float *rows;
  size_t pitch, count, width;
  /// The upper triangle.
  float *sums;
};

/// Adds to a tile of the sums, on or above the diagonal.
[[gnu::always_inline]] inline void addTile(const Block &block, size_t row,
                                           size_t column) {
  Lanes sums[kTileRows][2] = {};
  for (size_t r = 0; r < block.count; ++r) {
    const float *x = block.rows + r * block.pitch;
    Lanes right[2];
    std::memcpy(right, x + column, sizeof(right));
    for (size_t i = 0; i < kTileRows; ++i) {
      sums[i][0] += x[row + i] * right[0];
      sums[i][1] += x[row + i] * right[1];
    }
  }
  for (size_t i = row; i < std::min(row + kTileRows, block.width); ++i) {
    float line[kTileColumns];
    std::memcpy(line, sums[i - row], sizeof(line));
    // Row i begins after i rows, each one shorter than the one before it.
    float *to = block.sums + i * block.width - i * (i + 1) / 2;
    for (size_t j = std::max(i, column);
         j < std::min(column + kTileColumns, block.width); ++j)
      to[j] += line[j - column];
  }
}

} // namespace

/// Adds to some rows of the sums.
MTP_CLONES static void addRows(const Block &block, size_t begin, size_t end) {
  for (size_t row = begin; row < end; row += kTileRows)
    for (size_t column = row / kTileColumns * kTileColumns;
         column < block.width; column += kTileColumns)
      addTile(block, row, column);
}

void SecondMoments::addKind(std::string name, size_t width) {
  size_t pitch = width + kTileColumns;
  kinds.push_back({std::move(name), width,
                   std::vector<float>(kTogether * pitch), pitch,
                   std::vector<float>(width * (width + 1) / 2)});
}

void SecondMoments::add(std::span<const std::span<const float>> rows,
                        size_t count) {
  for (size_t r = 0; r < count; ++r) {
    for (size_t i = 0; i < kinds.size(); ++i)
      std::copy_n(rows[i].data() + r * kinds[i].width, kinds[i].width,
                  kinds[i].rows.data() + collected * kinds[i].pitch);
    if (++collected == kTogether)
      flush();
  }
}

void SecondMoments::flush() {
  struct Task {
    size_t kind, row;
  };
  std::vector<Task> tasks;
  for (size_t i = 0; i < kinds.size(); ++i)
    for (size_t row = 0; row < kinds[i].width; row += kTaskRows)
      tasks.push_back({i, row});
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t t; (t = next++) < tasks.size();) {
      Kind &kind = kinds[tasks[t].kind];
      Block block{kind.rows.data(), kind.pitch, collected, kind.width,
                  kind.sums.data()};
      addRows(block, tasks[t].row,
              std::min(tasks[t].row + kTaskRows, kind.width));
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (unsigned t = 1; t < threads; ++t)
      helpers.emplace_back(work);
    work();
  }
  collected = 0;
}

/// Returns the header of a safetensors file with its length.
static std::string headerOf(const std::string &json) {
  std::string padded = json + std::string((8 - json.size() % 8) % 8, ' ');
  std::string header;
  for (int byte = 0; byte < 8; ++byte)
    header += char(uint64_t(padded.size()) >> (8 * byte));
  return header + padded;
}

std::string SecondMoments::file() {
  flush();
  JsonWriter json;
  json.beginObject();
  uint64_t offset = 0;
  for (const Kind &kind : kinds) {
    json.key(kind.name);
    json.beginObject();
    json.field("dtype", "F32");
    json.field("shape", std::vector<uint64_t>{kind.sums.size()});
    uint64_t end = offset + kind.sums.size() * sizeof(float);
    json.field("data_offsets", std::vector<uint64_t>{offset, end});
    json.endObject();
    offset = end;
  }
  json.endObject();
  std::string text = headerOf(json.text());
  text.reserve(text.size() + offset);
  for (const Kind &kind : kinds)
    text.append(reinterpret_cast<const char *>(kind.sums.data()),
                kind.sums.size() * sizeof(float));
  return text;
}
