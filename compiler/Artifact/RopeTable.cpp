//===- RopeTable.cpp - Cosines and sines of a rotary embedding ------------===//

#include "compiler/Artifact/RopeTable.h"
#include <algorithm>
#include <cmath>
#include <numbers>

using namespace mlir::mtp;

/// Returns theta^(-2i/dim).
static double plainFrequency(RopeAttr rope, int64_t i) {
  return 1.0 / std::pow(rope.getTheta().convertToDouble(),
                        2.0 * i / static_cast<double>(rope.getDim()));
}

/// Returns the frequency of Llama 3.1's scaling. The factor stretches long
/// wavelengths, short wavelengths are unchanged, and the range between is
/// interpolated.
static double llama3Frequency(RopeAttr rope, int64_t i) {
  double plain = plainFrequency(rope, i);
  double wavelength = 2.0 * std::numbers::pi / plain;
  double context = rope.getOriginalMaxPosition();
  double low = rope.getLowFreqFactor().convertToDouble();
  double high = rope.getHighFreqFactor().convertToDouble();
  double factor = rope.getFactor().convertToDouble();
  if (wavelength < context / high)
    return plain;
  if (wavelength > context / low)
    return plain / factor;
  double smooth = (context / wavelength - low) / (high - low);
  return (1.0 - smooth) * plain / factor + smooth * plain;
}

/// Returns the dimension whose wavelength makes `rotations` turns in the
/// original context.
static double yarnDimension(RopeAttr rope, double rotations) {
  double context = rope.getOriginalMaxPosition();
  return rope.getDim() *
         std::log(context / (rotations * 2.0 * std::numbers::pi)) /
         (2.0 * std::log(rope.getTheta().convertToDouble()));
}

/// Returns YaRN's frequency: a ramp over the dimensions from unchanged to
/// stretched.
static double yarnFrequency(RopeAttr rope, int64_t i) {
  double low = yarnDimension(rope, rope.getBetaFast().convertToDouble());
  double high = yarnDimension(rope, rope.getBetaSlow().convertToDouble());
  if (rope.getTruncate()) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(rope.getDim() - 1));
  if (low == high)
    high += 0.001;
  double ramp = std::clamp((i - low) / (high - low), 0.0, 1.0);
  double plain = plainFrequency(rope, i);
  double stretched = plain / rope.getFactor().convertToDouble();
  return stretched * ramp + plain * (1.0 - ramp);
}

std::vector<float> mtp::compiler::inverseFrequencies(RopeAttr rope) {
  std::vector<float> frequencies(rope.getDim() / 2);
  for (size_t i = 0; i < frequencies.size(); ++i) {
    switch (rope.getScaling()) {
    case RopeScaling::None:
      frequencies[i] = plainFrequency(rope, i);
      break;
    case RopeScaling::Linear:
      frequencies[i] =
          plainFrequency(rope, i) / rope.getFactor().convertToDouble();
      break;
    case RopeScaling::Llama3:
      frequencies[i] = llama3Frequency(rope, i);
      break;
    case RopeScaling::Yarn:
      frequencies[i] = yarnFrequency(rope, i);
      break;
    }
  }
  return frequencies;
}

void mtp::compiler::writeRopeRow(RopeAttr rope,
                                 const std::vector<float> &frequencies,
                                 int64_t position, float *row) {
  double factor = rope.getAttentionFactor().convertToDouble();
  size_t half = frequencies.size();
  for (size_t i = 0; i < half; ++i) {
    float angle = static_cast<float>(position) * frequencies[i];
    row[i] = std::cos(static_cast<double>(angle)) * factor;
    row[half + i] = std::sin(static_cast<double>(angle)) * factor;
  }
}
