//===- GgufModel.cpp - The files of a GGUF model --------------------------===//

#include "compiler/Import/config/GgufModel.h"

#include "compiler/Weights/GgufFiles.h"

namespace mtp::importer {

Result<GgufModel> GgufModel::open(const std::string &path) {
  GgufModel model;
  MTP_ASSIGN_OR_RETURN(model.paths, findGgufFiles(path));
  for (const std::string &file : model.paths) {
    MTP_ASSIGN_OR_RETURN(InputFile opened, InputFile::open(file));
    Result<GgufHeader> header = parseGguf(opened.bytes());
    if (!header)
      return header.status().withContext("\"" + file + "\"");
    model.parts.push_back({std::move(*header), opened.bytes()});
    model.files.push_back(std::move(opened));
  }
  return model;
}

} // namespace mtp::importer
