//===- path_kind_test.cpp - The kind of file at a path --------------------===//

#include "runtime/core/PathKind.h"
#include "test/Weights/TestFiles.h"

#include <gtest/gtest.h>

using namespace mtp;
using namespace mtp::test;

namespace {

const std::string kWeights = FileBuilder().addF32("a", {1}, {1}).build();

TEST(PathKind, TellsFilesByTheirFirstBytes) {
  TemporaryFolder folder;
  auto kind = [&](const char *name, const std::string &bytes) {
    return kindOf(folder.write(name, bytes));
  };
  EXPECT_EQ(kind("m.bin", "GGUF\x03"), PathKind::Gguf);
  EXPECT_EQ(kind("m.bin", "tjgg\x03"), PathKind::Ggml);
  EXPECT_EQ(kind("m", kWeights), PathKind::Safetensors);
  EXPECT_EQ(kind("m.bin", "PK\x03\x04 archive"), PathKind::PyTorch);
  EXPECT_EQ(kind("m.pt", "\x80\x02 pickle"), PathKind::PyTorch);
  EXPECT_EQ(kind("m.zip", "PK\x03\x04 archive"), PathKind::File);
  EXPECT_EQ(kind("config.json", "\n {\"a\": 1}"), PathKind::Json);
  EXPECT_EQ(kind("m.mlir", "// text"), PathKind::Module);
  EXPECT_EQ(kind("m", "ML\xefR"), PathKind::Module);
  EXPECT_EQ(kind("m.gguf", "MTPC...."), PathKind::Artifact);
  EXPECT_EQ(kind("m.txt", "func.func"), PathKind::File);
  EXPECT_EQ(kind("m.gguf", ""), PathKind::DamagedGguf);
  EXPECT_EQ(kind("m.gguf", "version https://git-lfs.github.com/spec/v1"),
            PathKind::DamagedGguf);
  EXPECT_EQ(kindOf(folder.path("none")), PathKind::Missing);
  EXPECT_EQ(kindOf("/dev/null"), PathKind::Other);
}

TEST(PathKind, TellsFoldersByTheirFiles) {
  TemporaryFolder folder;
  auto kind = [&](const std::string &name,
                  std::initializer_list<const char *> files) {
    std::filesystem::create_directories(folder.path(name));
    for (const char *file : files)
      folder.write(name + "/" + file, "");
    return kindOf(folder.path(name));
  };
  EXPECT_EQ(kind("a", {"config.json", "model.safetensors"}), PathKind::Model);
  EXPECT_EQ(kind("b", {"params.json", "x.safetensors"}), PathKind::Model);
  EXPECT_EQ(kind("c", {"config.json", "model.safetensors.index.json"}),
            PathKind::Model);
  EXPECT_EQ(kind("d", {"config.json", "tokenizer.json"}), PathKind::Config);
  EXPECT_EQ(kind("e", {"config.json", "pytorch_model.bin"}),
            PathKind::PyTorchModel);
  EXPECT_EQ(kind("f", {"params.json", "consolidated.00.pth"}),
            PathKind::PyTorchModel);
  EXPECT_EQ(kind("g", {"config.json", "model.gguf"}), PathKind::GgufModel);
  EXPECT_EQ(kind("h", {"model.gguf"}), PathKind::GgufModel);
  EXPECT_EQ(kind("i", {"adapter_config.json", "adapter_model.safetensors"}),
            PathKind::Adapter);
  EXPECT_EQ(kind("j", {"adapter_config.json", "adapter_model.bin"}),
            PathKind::Adapter);
  // An adapter beside the model that it was merged into.
  EXPECT_EQ(kind("k", {"adapter_config.json", "adapter_model.safetensors",
                       "config.json", "model.safetensors"}),
            PathKind::Model);
  EXPECT_EQ(kind("l", {"config.json", "adapter_config.json",
                       "adapter_model.safetensors"}),
            PathKind::Adapter);
  EXPECT_EQ(kind("m", {"snapshots/0123/config.json"}), PathKind::HubCache);
  EXPECT_EQ(kind("n", {}), PathKind::Folder);
  EXPECT_EQ(kind("o", {"model.safetensors"}), PathKind::Folder);
}

/// Report h: an error says what was found, and the next step.
TEST(PathKind, NamesTheNextStep) {
  TemporaryFolder folder;
  auto message = [](const std::string &path, PathUse use) {
    return std::string(checkPath(path, use).message());
  };
  std::string gguf = folder.write("m.gguf", "GGUF");
  EXPECT_EQ(message(gguf, PathUse::Import), "");
  EXPECT_EQ(message(gguf, PathUse::ImportConfig), "");
  for (PathUse use : {PathUse::Compile, PathUse::Run})
    EXPECT_NE(message(gguf, use).find("\", got a GGUF file; mtp-import"),
              std::string::npos)
        << message(gguf, use);
  std::string ggml = folder.write("m.bin", "tjgg");
  EXPECT_NE(message(ggml, PathUse::Import)
                .find("got a GGML file, which is not read; take the folder"),
            std::string::npos);
  folder.write("hf/config.json", "{}");
  std::string hf = folder.path("hf");
  EXPECT_EQ(message(hf, PathUse::ImportConfig), "");
  EXPECT_NE(message(hf, PathUse::Import).find("got a folder without weights; "),
            std::string::npos);
  folder.write("hf/pytorch_model.bin", "");
  EXPECT_NE(message(hf, PathUse::Import).find("convert_torch.py"),
            std::string::npos);
  std::filesystem::remove(folder.path("hf/pytorch_model.bin"));
  std::string file = folder.write("hf/model.safetensors", kWeights);
  EXPECT_EQ(message(hf, PathUse::Import), "");
  EXPECT_EQ(
      message(hf, PathUse::Run),
      "expected an artifact at \"" + hf +
          "\", got a model's folder; mtp-import and mtpc make an artifact "
          "of it");
  EXPECT_EQ(message(file, PathUse::Import),
            "expected a model's folder at \"" + file +
                "\", got a file of weights; give the folder that it lies in");
  // Only a reader can judge these files.
  std::string text = folder.write("x.txt", "module {}");
  EXPECT_EQ(message(text, PathUse::Compile), "");
  EXPECT_EQ(message(text, PathUse::Run), "");
  EXPECT_EQ(message(folder.path("none"), PathUse::Run), "");
  EXPECT_NE(message("org/name", PathUse::Import).find("nothing is downloaded"),
            std::string::npos);
}

TEST(PathKind, NamesADamagedGguf) {
  TemporaryFolder folder;
  std::string damaged = folder.write("damaged.gguf", "<html>");
  for (PathUse use : {PathUse::Import, PathUse::ImportConfig, PathUse::Compile,
                      PathUse::Run, PathUse::Start}) {
    std::string message(checkPath(damaged, use).message());
    EXPECT_NE(message.find("got a .gguf file that does not begin with 'GGUF'; "
                           "download it again"),
              std::string::npos)
        << message;
  }
}

TEST(PathKind, AStartTakesModelsAndArtifacts) {
  TemporaryFolder folder;
  auto message = [](const std::string &path) {
    return std::string(checkPath(path, PathUse::Start).message());
  };
  folder.write("hf/config.json", "{}");
  EXPECT_NE(message(folder.path("hf")).find("got a folder without weights; "),
            std::string::npos);
  std::string file = folder.write("hf/model.safetensors", kWeights);
  EXPECT_EQ(message(folder.path("hf")), "");
  EXPECT_EQ(message(folder.write("m.gguf", "GGUF")), "");
  EXPECT_EQ(message(folder.write("m.bin", "MTPC")), "");
  EXPECT_EQ(message(folder.write("m.txt", "text")), "");
  EXPECT_EQ(message(folder.path("none")), "");
  EXPECT_EQ(message(file),
            "expected a model or an artifact at \"" + file +
                "\", got a file of weights; give the folder that it lies in");
  EXPECT_NE(message(folder.write("old.bin", "tjgg")).find("got a GGML file"),
            std::string::npos);
  EXPECT_NE(message(folder.write("m.mlir", "module")).find("mtpc makes an"),
            std::string::npos);
}

} // namespace
