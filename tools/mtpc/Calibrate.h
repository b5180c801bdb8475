//===- Calibrate.h - Statistics of a text for the quantiser -----*- C++ -*-===//

#ifndef MTP_TOOLS_MTPC_CALIBRATE_H
#define MTP_TOOLS_MTPC_CALIBRATE_H

#include "compiler/Weights/pack/ActivationStatistics.h"

/// The text and the model of --calibrate.
struct Calibration {
  /// A text, or statistics that mtp-run has written (.safetensors).
  std::string file;
  std::string model;
  /// Folder of the program, in which mtp-run is looked for first.
  std::string programFolder;
  /// Flags of mtpc that the model needs to compile.
  std::vector<std::string> flags;
};

/// Returns the statistics of the text. Compiles the model with its own weights
/// to a temporary artifact, and runs the text with mtp-run.
mtp::Result<mtp::ActivationStatistics>
collectStatistics(const Calibration &calibration);

#endif // MTP_TOOLS_MTPC_CALIBRATE_H
