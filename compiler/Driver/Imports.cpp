//===- Imports.cpp - Models that import from other files ------------------===//
//
// A file is a module that verifies after its imports are resolved, so it is
// first parsed without verification. An import takes the functions that the
// mtp.import names and, through all uses of symbols, the ops that these need.
// Such functions stay private and are renamed if their names are taken. Such
// caches, states and vocabularies are shared with the importing module.
//
//===----------------------------------------------------------------------===//

#include "compiler/Driver/Imports.h"
#include "compiler/Driver/SourceCheck.h"
#include "compiler/Import/library/DrafterLibrary.h"
#include "dialects/MTP/IR/MTPOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace mtp;
using namespace mlir;
using mlir::mtp::ImportOp;

/// Folder of the files that the tools contain. No path leads out of it.
static constexpr llvm::StringLiteral kNoFolder = "<>";

/// Limit above the size of any library. Files that import each other repeatedly
/// would only exhaust memory.
static constexpr size_t kMaxImported = 4096;

namespace {

/// Text of a file, or the reason that there is none.
using Text = llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>>;

/// Symbols of a module that imports; null for functions not yet imported.
using Names = llvm::StringMap<Operation *>;

class Importer {
public:
  Importer(MLIRContext &context, llvm::SourceMgr &sources,
           const std::string &libraryFolder)
      : context(context), sources(sources), libraryFolder(libraryFolder) {}

  /// Marks the file as being read, so that no file may import it.
  void begin(llvm::StringRef path) { files[path.str()] = {}; }

  /// Parses and verifies a file with its imports, whose paths are relative to
  /// `folder`.
  OwningOpRef<ModuleOp> parse(std::unique_ptr<llvm::MemoryBuffer> text,
                              const std::string &path,
                              const std::string &folder);

private:
  LogicalResult resolve(ModuleOp module, const std::string &folder);
  FailureOr<ModuleOp> open(ImportOp import, const std::string &folder);
  FailureOr<ModuleOp> openFile(ImportOp import, llvm::StringRef path);
  FailureOr<ModuleOp> openLibrary(ImportOp import, llvm::StringRef name);
  /// Parses a file once; `real` identifies the file.
  FailureOr<ModuleOp> parseOnce(ImportOp import, llvm::StringRef real,
                                const std::string &path,
                                const std::string &folder,
                                llvm::function_ref<Text()> read);
  FailureOr<llvm::SetVector<Operation *>> findNeeded(ImportOp import,
                                                     ModuleOp library);
  LogicalResult take(ImportOp import, ModuleOp library, Names &names);

  MLIRContext &context;
  llvm::SourceMgr &sources;
  const std::string &libraryFolder;
  /// The files by their real paths; null while a file is being read.
  std::map<std::string, OwningOpRef<ModuleOp>> files;
  size_t numImported = 0;
};

} // namespace

std::string compiler::folderOf(llvm::StringRef path) {
  llvm::StringRef parent =
      path == "-" ? "" : llvm::sys::path::parent_path(path);
  return parent.empty() ? "." : parent.str();
}

OwningOpRef<ModuleOp> Importer::parse(std::unique_ptr<llvm::MemoryBuffer> text,
                                      const std::string &path,
                                      const std::string &folder) {
  if (Status status = compiler::checkSource(text->getBuffer());
      !status.isOk()) {
    emitError(UnknownLoc::get(&context)) << path << ": " << status.message();
    return {};
  }
  // The parser reads the first buffer; diagnostics search all buffers.
  llvm::SourceMgr own;
  own.AddNewSourceBuffer(llvm::MemoryBuffer::getMemBuffer(*text),
                         llvm::SMLoc());
  sources.AddNewSourceBuffer(std::move(text), llvm::SMLoc());
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  auto module = parseSourceFile<ModuleOp>(own, config);
  if (!module || failed(resolve(*module, folder)) || failed(verify(*module)))
    return {};
  return module;
}

static InFlightDiagnostic cannotRead(ImportOp import, llvm::StringRef path) {
  return import.emitOpError("cannot read '") << path << "': ";
}

FailureOr<ModuleOp> Importer::parseOnce(ImportOp import, llvm::StringRef real,
                                        const std::string &path,
                                        const std::string &folder,
                                        llvm::function_ref<Text()> read) {
  auto [at, isNew] = files.try_emplace(real.str());
  if (!isNew) {
    if (at->second)
      return *at->second;
    return import.emitOpError("expected no cycle of files, got '")
           << path << "' again";
  }
  Text text = read();
  if (!text)
    return cannotRead(import, path) << text.getError().message();
  at->second = parse(std::move(*text), path, folder);
  if (!at->second) {
    files.erase(at);
    return failure();
  }
  return *at->second;
}

FailureOr<ModuleOp> Importer::openFile(ImportOp import, llvm::StringRef path) {
  llvm::SmallString<256> real;
  if (std::error_code error = llvm::sys::fs::real_path(path, real))
    return cannotRead(import, path) << error.message();
  if (!llvm::sys::fs::is_regular_file(real))
    return cannotRead(import, path) << "expected a file";
  return parseOnce(import, real, path.str(), compiler::folderOf(path), [&] {
    return llvm::MemoryBuffer::getFile(path, /*IsText=*/true);
  });
}

/// Reads a file of the library: from `libraryFolder` first, then from the
/// tools.
FailureOr<ModuleOp> Importer::openLibrary(ImportOp import,
                                          llvm::StringRef name) {
  llvm::SmallString<256> path(libraryFolder);
  llvm::sys::path::append(path, name);
  if (!libraryFolder.empty() && llvm::sys::fs::exists(path))
    return openFile(import, path);
  auto text = drafters::findLibraryFile(name);
  if (!text) {
    return import.emitOpError("expected a file of the drafter library (")
           << drafters::listLibraryFiles() << "), got '" << import.getFile()
           << "'";
  }
  std::string own = import.getFile().str();
  return parseOnce(import, own, own, kNoFolder.str(), [&] {
    return Text(llvm::MemoryBuffer::getMemBuffer(*text, own));
  });
}

/// Reads the file that `import` names, unless it has been read.
FailureOr<ModuleOp> Importer::open(ImportOp import, const std::string &folder) {
  if (std::optional<llvm::StringRef> name = import.getLibraryName())
    return openLibrary(import, *name);
  if (folder == kNoFolder) {
    return import.emitOpError("expected a name in angle brackets in a file "
                              "that the tools bring, got '")
           << import.getFile() << "'";
  }
  llvm::SmallString<256> path(folder == "." ? "" : folder);
  llvm::sys::path::append(path, import.getFile());
  return openFile(import, path);
}

/// Returns the named functions and all symbols that they use, in the order of
/// discovery.
FailureOr<llvm::SetVector<Operation *>> Importer::findNeeded(ImportOp import,
                                                             ModuleOp library) {
  SymbolTable symbols(library);
  llvm::SetVector<Operation *> needed;
  for (auto name : import.getFunctions().getAsRange<FlatSymbolRefAttr>()) {
    auto func = symbols.lookup<func::FuncOp>(name.getAttr());
    if (!func || func.isExternal()) {
      return import.emitOpError("expected a function ")
             << name << " in '" << import.getFile() << "', got none";
    }
    needed.insert(func);
  }
  for (size_t i = 0; i < needed.size(); ++i)
    needed[i]->walk([&](Operation *op) {
      op->getAttrDictionary().walk([&](SymbolRefAttr use) {
        if (Operation *used = symbols.lookup(use.getRootReference()))
          needed.insert(used);
      });
    });
  numImported += needed.size();
  if (numImported > kMaxImported) {
    return import.emitOpError("expected at most ")
           << kMaxImported << " symbols of other files";
  }
  return needed;
}

/// Returns whether two caches, states or vocabularies are equal. Functions
/// never are.
static bool isSame(Operation *a, Operation *b) {
  return a && !isa<func::FuncOp>(a) && a->getName() == b->getName() &&
         a->getAttrDictionary() == b->getAttrDictionary();
}

/// Returns a name, based on the file's name, that neither the module nor `copy`
/// has.
static StringAttr freeName(ImportOp import, StringAttr name, const Names &names,
                           ModuleOp copy) {
  llvm::StringRef file = import.getLibraryName().value_or(import.getFile());
  std::string stem = llvm::sys::path::stem(file).str();
  std::string base = stem + "." + name.str(), own = base;
  for (size_t i = 0; names.contains(own) || copy.lookupSymbol(own); ++i)
    own = base + "." + std::to_string(i);
  return StringAttr::get(name.getContext(), own);
}

/// Renames the functions of `copy` that are not named by `import`, if their
/// names are taken.
static LogicalResult renameHelpers(ImportOp import, ModuleOp copy,
                                   const Names &names) {
  for (auto func : copy.getOps<func::FuncOp>()) {
    StringAttr name = func.getSymNameAttr();
    bool isNamed =
        llvm::is_contained(import.getFunctions(), FlatSymbolRefAttr::get(name));
    if (isNamed || !names.contains(name))
      continue;
    StringAttr own = freeName(import, name, names, copy);
    if (failed(SymbolTable::replaceAllSymbolUses(name, own, copy)))
      return func.emitOpError("expected uses that can be renamed");
    func.setSymNameAttr(own);
  }
  return success();
}

/// Moves the functions that `import` names, and the ops that they need, before
/// `import`.
LogicalResult Importer::take(ImportOp import, ModuleOp library, Names &names) {
  auto needed = findNeeded(import, library);
  if (failed(needed))
    return failure();
  OwningOpRef<ModuleOp> copy = ModuleOp::create(import.getLoc());
  OpBuilder builder = OpBuilder::atBlockEnd(copy->getBody());
  for (Operation *op : *needed)
    builder.clone(*op);
  if (failed(renameHelpers(import, *copy, names)))
    return failure();
  for (Operation &op : llvm::make_early_inc_range(*copy->getBody())) {
    StringAttr name = SymbolTable::getSymbolName(&op);
    Operation *&own = names[name];
    if (own && !isSame(own, &op)) {
      return import.emitOpError("expected @")
             << name.getValue() << " as '" << import.getFile()
             << "' declares it, got another one";
    }
    if (own)
      continue;
    if (auto func = dyn_cast<func::FuncOp>(op))
      func.setPrivate();
    op.moveBefore(import);
    own = &op;
  }
  return success();
}

/// Resolves all imports of the module.
LogicalResult Importer::resolve(ModuleOp module, const std::string &folder) {
  auto imports = llvm::to_vector(module.getOps<ImportOp>());
  if (imports.empty())
    return success();
  Names names;
  for (Operation &op : *module.getBody())
    if (auto name =
            op.getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName()))
      names[name] = &op;
  // Requested names are never changed; other names change if they collide.
  for (ImportOp import : imports) {
    if (failed(verify(import)))
      return failure();
    for (auto name : import.getFunctions().getAsRange<FlatSymbolRefAttr>())
      if (!names.try_emplace(name.getValue(), nullptr).second) {
        return import.emitOpError("expected no other ")
               << name << " in the module";
      }
  }
  for (ImportOp import : imports) {
    FailureOr<ModuleOp> library = open(import, folder);
    if (failed(library) || failed(take(import, *library, names)))
      return failure();
    import.erase();
  }
  return success();
}

OwningOpRef<ModuleOp>
compiler::parseWithImports(MLIRContext &context, llvm::SourceMgr &sources,
                           std::unique_ptr<llvm::MemoryBuffer> text,
                           const std::string &path,
                           const std::string &libraryFolder) {
  Importer importer(context, sources, libraryFolder);
  llvm::SmallString<256> real;
  if (!llvm::sys::fs::real_path(path, real))
    importer.begin(real);
  return importer.parse(std::move(text), path, folderOf(path));
}
