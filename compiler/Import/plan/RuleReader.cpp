//===- RuleReader.cpp - Rules that the library declares -------------------===//

#include "compiler/Import/plan/RuleReader.h"

#include "compiler/Driver/Imports.h"
#include "compiler/Import/library/DrafterLibrary.h"

#include "dialects/MTP/IR/MTPOps.h"
#include "dialects/MTP/IR/RuleAttrs.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace mtp::importer {

namespace {

constexpr llvm::StringLiteral kFile = "rules.mlir";

/// Arguments that the importer makes, besides a rule's numbers.
constexpr llvm::StringRef kArguments[] = {
    "slots", "d", "parents", "p", "q", "u", "v", "picks", "best", "logs"};

/// Reads one declaration of a function.
class DeclarationReader {
public:
  DeclarationReader(mlir::func::FuncOp func, mlir::DictionaryAttr fields)
      : func(func), fields(fields), symbol(func.getSymName()) {}

  /// Adds the rule to `rules`, or the function to the rule of its name.
  Status read(std::vector<AcceptRule> &rules);

private:
  Status unexpected(const llvm::Twine &what) const {
    return invalidArgument(
        (kFile + ": @" + symbol + ": expected " + what).str());
  }
  Status checkKeys(mlir::DictionaryAttr dict,
                   llvm::ArrayRef<llvm::StringRef> known) const;
  Result<std::string> text(mlir::DictionaryAttr dict, llvm::StringRef key);
  Result<bool> flag(llvm::StringRef key);
  Result<std::optional<double>> bound(mlir::DictionaryAttr dict,
                                      llvm::StringRef key, bool &isWhole);
  Result<RuleNumber> number(mlir::DictionaryAttr dict);
  Status readNumbers(AcceptRule &rule);
  Status readDrafts(AcceptRule &rule);
  Result<RuleFunction> readFunction(const AcceptRule &rule);
  Status merge(AcceptRule rule, RuleFunction function,
               std::vector<AcceptRule> &rules);

  mlir::func::FuncOp func;
  mlir::DictionaryAttr fields;
  llvm::StringRef symbol;
};

} // namespace

Status
DeclarationReader::checkKeys(mlir::DictionaryAttr dict,
                             llvm::ArrayRef<llvm::StringRef> known) const {
  for (mlir::NamedAttribute field : dict)
    if (!llvm::is_contained(known, field.getName().strref()))
      return unexpected("a key among " + llvm::join(known, ", ") + ", got '" +
                        field.getName().strref() + "'");
  return okStatus();
}

Result<std::string> DeclarationReader::text(mlir::DictionaryAttr dict,
                                            llvm::StringRef key) {
  auto value = dict.getAs<mlir::StringAttr>(key);
  if (!value || value.empty())
    return unexpected("a string as '" + key + "'");
  return value.str();
}

Result<bool> DeclarationReader::flag(llvm::StringRef key) {
  mlir::Attribute value = fields.get(key);
  if (value && !llvm::isa<mlir::UnitAttr>(value))
    return unexpected("'" + key + "' without a value");
  return value != nullptr;
}

/// Reads an integer or a float. Clears `isWhole` for a float.
Result<std::optional<double>>
DeclarationReader::bound(mlir::DictionaryAttr dict, llvm::StringRef key,
                         bool &isWhole) {
  mlir::Attribute value = dict.get(key);
  if (!value)
    return std::optional<double>();
  if (auto whole = llvm::dyn_cast<mlir::IntegerAttr>(value))
    return std::optional<double>(double(whole.getInt()));
  isWhole = false;
  if (auto real = llvm::dyn_cast<mlir::FloatAttr>(value))
    return std::optional<double>(real.getValueAsDouble());
  return unexpected("a number as '" + key + "'");
}

Result<RuleNumber> DeclarationReader::number(mlir::DictionaryAttr dict) {
  MTP_RETURN_IF_ERROR(
      checkKeys(dict, {"name", "least", "above", "most", "default"}));
  RuleNumber number;
  number.isWhole = true;
  MTP_ASSIGN_OR_RETURN(number.name, text(dict, "name"));
  if (llvm::is_contained(kArguments, number.name))
    return unexpected("a number that is not named as an argument, got " +
                      number.name);
  MTP_ASSIGN_OR_RETURN(auto least, bound(dict, "least", number.isWhole));
  MTP_ASSIGN_OR_RETURN(auto above, bound(dict, "above", number.isWhole));
  MTP_ASSIGN_OR_RETURN(auto most, bound(dict, "most", number.isWhole));
  MTP_ASSIGN_OR_RETURN(number.fallback, bound(dict, "default", number.isWhole));
  if (!most || least.has_value() == above.has_value())
    return unexpected("'most' and one of 'least' and 'above' for the number " +
                      number.name);
  number.excludesLeast = above.has_value();
  number.least = above ? *above : *least;
  number.most = *most;
  return number;
}

Status DeclarationReader::readNumbers(AcceptRule &rule) {
  auto list = fields.getAs<mlir::ArrayAttr>("numbers");
  if (!list && fields.contains("numbers"))
    return unexpected("an array as 'numbers'");
  for (mlir::Attribute field :
       list ? list.getValue() : llvm::ArrayRef<mlir::Attribute>()) {
    auto dict = llvm::dyn_cast<mlir::DictionaryAttr>(field);
    if (!dict)
      return unexpected("dictionaries in 'numbers'");
    MTP_ASSIGN_OR_RETURN(RuleNumber own, number(dict));
    rule.numbers.push_back(std::move(own));
    if (rule.numbers.back().fallback.has_value() !=
        rule.numbers.front().fallback.has_value())
      return unexpected("a default for all numbers or none");
  }
  return okStatus();
}

Status DeclarationReader::readDrafts(AcceptRule &rule) {
  MTP_ASSIGN_OR_RETURN(std::string name, text(fields, "drafts"));
  auto choice = llvm::StringSwitch<std::optional<DraftChoice>>(name)
                    .Case("picked", DraftChoice::Picked)
                    .Case("best", DraftChoice::Best)
                    .Case("drawn", DraftChoice::Drawn)
                    .Default(std::nullopt);
  if (!choice)
    return unexpected("'drafts' to be picked, best or drawn, got '" + name +
                      "'");
  rule.drafts = *choice;
  return okStatus();
}

Result<RuleFunction> DeclarationReader::readFunction(const AcceptRule &rule) {
  RuleFunction function;
  function.name = func.getSymName().str();
  MTP_ASSIGN_OR_RETURN(function.goesByAnchor, flag("by_anchor"));
  auto takes = fields.getAs<mlir::ArrayAttr>("takes");
  if (!takes || takes.size() != func.getNumArguments())
    return unexpected("'takes' to name each of the " +
                      llvm::Twine(func.getNumArguments()) + " arguments");
  auto isNumber = [&](llvm::StringRef name, bool isWhole) {
    return llvm::any_of(rule.numbers, [&](const RuleNumber &number) {
      return number.name == name && number.isWhole == isWhole;
    });
  };
  for (mlir::Attribute field : takes) {
    auto name = llvm::dyn_cast<mlir::StringAttr>(field);
    if (!name || (!llvm::is_contained(kArguments, name.getValue()) &&
                  !isNumber(name.getValue(), /*isWhole=*/false)))
      return unexpected("arguments among " +
                        llvm::join(llvm::ArrayRef(kArguments), ", ") +
                        " and the numbers that are no integers");
    function.takes.push_back(name.str());
  }
  if (auto columns = fields.getAs<mlir::StringAttr>("columns"))
    function.columns = columns.str();
  bool takesBest = function.sees("best") || function.sees("logs");
  if (takesBest ? !isNumber(function.columns, /*isWhole=*/true)
                : !function.columns.empty())
    return unexpected("'columns' to name an integer of the rule, if and only "
                      "if the function takes best or logs");
  unsigned results = func.getNumResults();
  if (results != 2 && results != 3)
    return unexpected("the results count, last node (of a rule for trees) and "
                      "token, got " +
                      llvm::Twine(results) + " results");
  function.takesTrees = results == 3;
  return function;
}

Status DeclarationReader::merge(AcceptRule rule, RuleFunction function,
                                std::vector<AcceptRule> &rules) {
  auto known = llvm::find_if(
      rules, [&](const AcceptRule &other) { return other.name == rule.name; });
  if (known == rules.end()) {
    rules.push_back(std::move(rule));
    known = std::prev(rules.end());
  } else if (known->drafts != rule.drafts || known->isLossy != rule.isLossy ||
             known->numbers != rule.numbers) {
    return unexpected("equal drafts, numbers and loss in all declarations of "
                      "the rule " +
                      rule.name);
  }
  bool isOfDrawn = function.sees("q");
  if (isOfDrawn && known->drafts != DraftChoice::Drawn)
    return unexpected("'drafts' to be drawn, because the function takes q");
  std::optional<RuleFunction> &place =
      isOfDrawn ? known->ofDrawn : known->ofOthers;
  if (place)
    return unexpected("one function with q and one without it for the rule " +
                      known->name + ", got also @" + place->name);
  place = std::move(function);
  return okStatus();
}

Status DeclarationReader::read(std::vector<AcceptRule> &rules) {
  MTP_RETURN_IF_ERROR(checkKeys(fields, {"name", "drafts", "lossy", "numbers",
                                         "takes", "by_anchor", "columns"}));
  AcceptRule rule;
  MTP_ASSIGN_OR_RETURN(rule.name, text(fields, "name"));
  if (llvm::StringRef(rule.name).starts_with("exact"))
    return unexpected("a name that does not begin with exact, the rule of "
                      "mtp.accept");
  MTP_ASSIGN_OR_RETURN(rule.isLossy, flag("lossy"));
  MTP_RETURN_IF_ERROR(readDrafts(rule));
  MTP_RETURN_IF_ERROR(readNumbers(rule));
  MTP_ASSIGN_OR_RETURN(RuleFunction function, readFunction(rule));
  return merge(std::move(rule), std::move(function), rules);
}

/// Reads the text of the rules.
static Result<std::unique_ptr<llvm::MemoryBuffer>>
readText(const std::string &libraryFolder, std::string &path) {
  llvm::SmallString<256> own(libraryFolder);
  llvm::sys::path::append(own, kFile);
  path = "<" + kFile.str() + ">";
  if (libraryFolder.empty() || !llvm::sys::fs::exists(own))
    return llvm::MemoryBuffer::getMemBuffer(
        *drafters::findLibraryFile(std::string_view(kFile)), path);
  path = own.str().str();
  auto text = llvm::MemoryBuffer::getFile(own, /*IsText=*/true);
  if (!text)
    return notFound("cannot read \"" + path +
                    "\": " + text.getError().message());
  return std::move(*text);
}

void loadImportDialects(mlir::MLIRContext &context) {
  mlir::DialectRegistry registry;
  mlir::mtp::registerControlDialects(registry);
  registry.insert<mlir::mtp::MTPDialect, mlir::func::FuncDialect>();
  context.appendDialectRegistry(registry);
  context.loadAllAvailableDialects();
}

Result<std::vector<AcceptRule>> readRules(mlir::MLIRContext &context,
                                          const std::string &libraryFolder) {
  loadImportDialects(context);
  std::string path;
  MTP_ASSIGN_OR_RETURN(std::unique_ptr<llvm::MemoryBuffer> text,
                       readText(libraryFolder, path));
  llvm::SourceMgr sources;
  std::string objection;
  mlir::ScopedDiagnosticHandler handler(
      &context, [&](mlir::Diagnostic &diagnostic) {
        objection = objection.empty() ? diagnostic.str() : objection;
        return mlir::success();
      });
  auto module = compiler::parseWithImports(context, sources, std::move(text),
                                           path, libraryFolder);
  if (!module)
    return invalidArgument(path + ": " + objection);
  std::vector<AcceptRule> rules;
  for (auto func : module->getOps<mlir::func::FuncOp>()) {
    auto declared =
        func->getAttrOfType<mlir::ArrayAttr>(mlir::mtp::kAcceptRulesAttr);
    if (!declared)
      continue;
    for (auto fields : declared.getAsRange<mlir::DictionaryAttr>())
      MTP_RETURN_IF_ERROR(DeclarationReader(func, fields).read(rules));
  }
  return rules;
}

} // namespace mtp::importer
