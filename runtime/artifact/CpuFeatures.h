//===- CpuFeatures.h - Checks that images can run here ----------*- C++ -*-===//

#ifndef MTP_RUNTIME_ARTIFACT_CPUFEATURES_H
#define MTP_RUNTIME_ARTIFACT_CPUFEATURES_H

#include "runtime/artifact/Artifact.h"
#include "runtime/core/Status.h"

#include <string>
#include <string_view>

namespace mtp {

/// Whether this processor and operating system have a feature.
enum class FeatureState { Present, Missing, Unknown };

/// Looks up a feature by its LLVM name, e.g. "avx512bf16". For tile registers
/// ("amx-tile") it also requests the permission of the operating system;
/// `Present` then means that the process may use them. Any thread may call it.
FeatureState cpuFeature(std::string_view name);

/// Returns the architecture that this runtime was built for, e.g. "x86_64".
std::string_view hostArch();

/// Returns a text that identifies a processor for a compiler: architecture,
/// vendor, family, model and features. Processors for which a compiler makes
/// different code have different texts. Requests tile registers as cpuFeature()
/// does.
std::string hostProcessor();

/// Fails and names the missing feature if the images of `target` cannot run
/// here.
Status checkTarget(const schema::Target &target);

/// Returns the index of the first plan that this machine's processor can run.
/// If there is none, returns the index of a plan for this architecture, or else
/// of any plan that is not for a GPU; checkTarget refuses the target of that
/// plan. There must be one.
uint32_t chooseCpuPlan(const Artifact &artifact);

} // namespace mtp

#endif // MTP_RUNTIME_ARTIFACT_CPUFEATURES_H
