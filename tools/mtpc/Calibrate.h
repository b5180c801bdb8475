//===- Calibrate.h - Statistics of a text for the quantiser -----*- C++ -*-===//

#ifndef MTP_TOOLS_MTPC_CALIBRATE_H
#define MTP_TOOLS_MTPC_CALIBRATE_H

#include "compiler/Driver/PlanReport.h"
#include "compiler/Weights/pack/ActivationStatistics.h"

#include <memory>

/// The text and the model of --calibrate.
struct Calibration {
  /// A text, or statistics that mtp-run has written (.safetensors). "self":
  /// texts that the model itself writes.
  std::string file;
  std::string model;
  /// Folder of the program, in which mtp-run is looked for first.
  std::string programFolder;
  /// Flags of mtpc that the model needs to compile.
  std::vector<std::string> flags;
};

/// The statistics of a text. The model with its own weights is compiled to a
/// temporary artifact, which mtp-run runs.
class Calibrator {
public:
  static mtp::Result<Calibrator> collect(const Calibration &calibration);

  const mtp::ActivationStatistics &statistics() const { return *known; }

  /// Runs the begin of the text through `artifact` and through the model with
  /// its own weights. Returns nothing if there is no text.
  mtp::Result<std::optional<mtp::compiler::CalibrationScore>>
  score(const std::string &artifact) const;

private:
  /// A folder that is removed with its files.
  struct Folder {
    std::string path;
    ~Folder();
  };

  mtp::Status run(const Calibration &calibration);

  std::unique_ptr<Folder> folder;
  std::string runner, text;
  std::optional<mtp::ActivationStatistics> known;
};

#endif // MTP_TOOLS_MTPC_CALIBRATE_H
