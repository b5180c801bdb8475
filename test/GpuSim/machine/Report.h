//===- Report.h - Messages of gpu-sim ---------------------------*- C++ -*-===//

#ifndef MTP_TEST_GPUSIM_MACHINE_REPORT_H
#define MTP_TEST_GPUSIM_MACHINE_REPORT_H

#include <cuda.h>
#include <string>

namespace mtp::gpusim {

/// Writes a message to the standard error and keeps it for mtp_sim_last_error.
/// Returns `code`, so that an entry point can end with this call.
[[gnu::format(printf, 2, 3)]] CUresult refuse(CUresult code, const char *format,
                                              ...);

/// Returns the message of the last refusal or fault.
const std::string &lastMessage();
void clearMessage();
void setMessage(std::string message);

} // namespace mtp::gpusim

#endif // MTP_TEST_GPUSIM_MACHINE_REPORT_H
