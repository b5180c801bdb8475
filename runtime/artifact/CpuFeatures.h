//===- CpuFeatures.h - Can this machine run the images? ---------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_CPUFEATURES_H
#define MTP_RUNTIME_ARTIFACT_CPUFEATURES_H

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Status.h"

#include <string_view>

namespace mtp {

/// What this processor, with this operating system, says about a feature.
enum class FeatureState { Present, Missing, Unknown };

/// Looks a feature up under its LLVM name, e.g. "avx512bf16". Where it is one
/// of tile registers ("amx-tile"), asks the operating system to let the process
/// use them; it may, if they are present. Any thread may call it.
FeatureState cpuFeature(std::string_view name);

/// The architecture that this runtime was built for, e.g. "x86_64".
std::string_view hostArch();

/// Fails, naming what is missing, when the images of `target` cannot run here.
Status checkTarget(const schema::Target &target);

/// The index of the first plan that this machine can run; where there is none,
/// that of a plan whose target checkTarget refuses, if possible one for this
/// architecture.
uint32_t choosePlan(const Artifact &artifact);

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_CPUFEATURES_H
