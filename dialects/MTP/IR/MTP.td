//===- MTP.td - The mtp dialect ----------------------------*- tablegen -*-===//
//
// The umbrella: the whole dialect, for the generators and for other dialects
// that need all of it. A file that needs the types alone includes MTPTypes.td.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_TD
#define MTP_TD

include "dialects/MTP/IR/MTPDialect.td"
include "dialects/MTP/IR/MTPTypes.td"
include "dialects/MTP/IR/MTPEnums.td"
include "dialects/MTP/IR/MTPAttrs.td"
include "dialects/MTP/IR/MTPOps.td"

#endif // MTP_TD
