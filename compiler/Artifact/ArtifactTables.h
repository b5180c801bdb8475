//===- ArtifactTables.h - From exec IR to the artifact's tables -*- C++ -*-===//

#ifndef MTP_COMPILER_ARTIFACT_ARTIFACTTABLES_H
#define MTP_COMPILER_ARTIFACT_ARTIFACTTABLES_H

#include "compiler/Artifact/FileLayout.h"

namespace mtp::compiler {

/// Builds the FlatBuffer. Its size does not depend on the segments' hashes.
flatbuffers::DetachedBuffer buildTables(const ArtifactInputs &inputs,
                                        const FileLayout &layout);

} // namespace mtp::compiler

#endif // MTP_COMPILER_ARTIFACT_ARTIFACTTABLES_H
