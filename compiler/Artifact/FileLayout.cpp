//===- FileLayout.cpp - Layout of an artifact file ------------------------===//

#include "compiler/Artifact/FileLayout.h"
#include "runtime/schema/ArtifactFormat.h"

using namespace mtp;
using namespace mtp::compiler;
using namespace mlir;

namespace {

class FileLayoutBuilder {
public:
  FileLayoutBuilder(const ArtifactInputs &inputs, FileLayout &layout)
      : inputs(inputs), layout(layout) {}

  LogicalResult build();

private:
  /// A distinct blob: its uses, and the plans that use it, one bit for each.
  struct Distinct {
    SmallVector<BlobNumber, 1> users;
    uint32_t plans;
  };

  std::vector<BlobLayout> &blobsOf(schema::SegmentKind kind, size_t plan) {
    PlanLayout &own = layout.plans[plan];
    return kind == schema::SegmentKind::Weights ? own.weights : own.constants;
  }
  bool haveSameBytes(schema::SegmentKind kind, BlobNumber a, BlobNumber b);
  std::vector<Distinct> findDistinct(schema::SegmentKind kind);
  void addSegment(SegmentLayout segment);
  void addImages(size_t plan);
  void addBlobs(schema::SegmentKind kind);

  const ArtifactInputs &inputs;
  FileLayout &layout;
};

} // namespace

/// Returns the attributes of an op except the offset of its buffer.
static DictionaryAttr withoutOffset(exec::StateOp state) {
  NamedAttrList attributes(state->getAttrDictionary());
  attributes.erase(state.getOffsetAttrName());
  return attributes.getDictionary(state.getContext());
}

/// Reports an error unless a plan's module has the states and caches of the
/// first one, which the root's tables describe.
static LogicalResult checkShared(ModuleOp first, ModuleOp module) {
  auto states = [](ModuleOp from) {
    return llvm::map_to_vector(from.getOps<exec::StateOp>(), withoutOffset);
  };
  auto caches = [](ModuleOp from) {
    return llvm::map_to_vector(
        from.getOps<exec::CacheOp>(),
        [](exec::CacheOp cache) { return cache->getAttrDictionary(); });
  };
  if (states(first) != states(module) || caches(first) != caches(module))
    return module.emitError("expected the same states and caches for all "
                            "targets");
  return success();
}

bool FileLayoutBuilder::haveSameBytes(schema::SegmentKind kind, BlobNumber a,
                                      BlobNumber b) {
  if (kind == schema::SegmentKind::Weights)
    return layout.plans[a.plan].recipes[a.blob] ==
           layout.plans[b.plan].recipes[b.blob];
  Operation *first = blobsOf(kind, a.plan)[a.blob].op;
  Operation *second = blobsOf(kind, b.plan)[b.blob].op;
  return first->getName() == second->getName() &&
         first->getAttrDictionary() == second->getAttrDictionary();
}

void FileLayoutBuilder::addSegment(SegmentLayout segment) {
  if (segment.size == 0)
    return;
  segment.offset = alignTo(layout.segmentEnd, kSegmentAlignment);
  layout.segmentEnd = segment.offset + segment.size;
  layout.segments.push_back(std::move(segment));
}

std::vector<FileLayoutBuilder::Distinct>
FileLayoutBuilder::findDistinct(schema::SegmentKind kind) {
  std::vector<Distinct> distinct;
  // Blobs that are equal in two plans have equal names.
  llvm::StringMap<SmallVector<size_t, 1>> byName;
  for (size_t plan = 0; plan < layout.plans.size(); ++plan) {
    for (auto [i, blob] : llvm::enumerate(blobsOf(kind, plan))) {
      SmallVector<size_t, 1> &named = byName[blob.name];
      BlobNumber number{plan, i};
      auto *known = llvm::find_if(named, [&](size_t other) {
        return haveSameBytes(kind, distinct[other].users.front(), number);
      });
      if (known == named.end()) {
        named.push_back(distinct.size());
        distinct.push_back({{number}, 1u << plan});
      } else {
        distinct[*known].users.push_back(number);
        distinct[*known].plans |= 1u << plan;
      }
    }
  }
  return distinct;
}

void FileLayoutBuilder::addBlobs(schema::SegmentKind kind) {
  // One segment for each set of plans, in the order of their first blobs.
  std::vector<SegmentLayout> segments;
  std::vector<uint32_t> sets;
  for (const Distinct &one : findDistinct(kind)) {
    size_t index = llvm::find(sets, one.plans) - sets.begin();
    if (index == sets.size()) {
      sets.push_back(one.plans);
      segments.push_back({kind});
    }
    SegmentLayout &segment = segments[index];
    uint64_t offset = blobOffset(segment.size);
    for (BlobNumber user : one.users) {
      BlobLayout &blob = blobsOf(kind, user.plan)[user.blob];
      blob.segment = layout.segments.size() + index;
      blob.offset = offset;
      segment.size = offset + blob.size;
    }
    segment.blobs.push_back(one.users.front());
  }
  for (SegmentLayout &segment : segments)
    addSegment(std::move(segment));
}

void FileLayoutBuilder::addImages(size_t plan) {
  for (size_t image = 0; image < inputs.plans[plan].code.images.size(); ++image)
    for (bool isPtx : {false, true}) {
      SegmentLayout segment{schema::SegmentKind::Image};
      segment.image = {plan, image, isPtx};
      segment.size = segment.image.of(inputs).size();
      addSegment(segment);
    }
}

LogicalResult FileLayoutBuilder::build() {
  for (const PlanInputs &plan : inputs.plans) {
    FailureOr<PlanLayout> own = PlanLayout::get(plan.module);
    if (failed(own) ||
        failed(checkShared(inputs.plans.front().module, plan.module)))
      return failure();
    layout.plans.push_back(std::move(*own));
  }
  for (size_t plan = 0; plan < inputs.plans.size(); ++plan)
    addImages(plan);
  SegmentLayout tokenizer{schema::SegmentKind::Tokenizer};
  tokenizer.size = inputs.tokenizer.size();
  addSegment(tokenizer);
  addBlobs(schema::SegmentKind::Constants);
  addBlobs(schema::SegmentKind::Weights);
  return success();
}

FailureOr<FileLayout> FileLayout::get(const ArtifactInputs &inputs) {
  FileLayout layout;
  if (failed(FileLayoutBuilder(inputs, layout).build()))
    return failure();
  return layout;
}

static int
findSegment(llvm::ArrayRef<SegmentLayout> segments,
            llvm::function_ref<bool(const SegmentLayout &)> isWanted) {
  const SegmentLayout *found = llvm::find_if(segments, isWanted);
  return found == segments.end() ? -1 : int(found - segments.begin());
}

int FileLayout::tokenizerSegment() const {
  return findSegment(segments, [](const SegmentLayout &segment) {
    return segment.kind == schema::SegmentKind::Tokenizer;
  });
}

int FileLayout::imageSegment(const ImageNumber &image) const {
  return findSegment(segments, [&](const SegmentLayout &segment) {
    return segment.kind == schema::SegmentKind::Image && segment.image == image;
  });
}
