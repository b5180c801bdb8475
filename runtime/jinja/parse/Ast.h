//===- Ast.h - The tree of a template ---------------------------*- C++ -*-===//

#ifndef MTP_RUNTIME_JINJA_PARSE_AST_H
#define MTP_RUNTIME_JINJA_PARSE_AST_H

#include "runtime/jinja/parse/Token.h"
#include "runtime/jinja/value/Value.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace mtp::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class ExprKind : uint8_t {
  Constant,
  Name,
  List,
  Tuple,
  Dict,      ///< children: key, value, key, value
  Attribute, ///< children[0].name
  Item,      ///< children[0][children[1]]
  Slice,     ///< children[0][a:b:c]; an absent part is null
  Call,      ///< children[0](arguments)
  Filter,    ///< children[0] | name(arguments); null in a filter block
  Test,      ///< children[0] is name(arguments)
  Not,
  Negate,
  Plus,
  Binary, ///< children[0] name children[1]
  Concat,
  Compare, ///< children[0] operators[0] children[1] operators[1] ...
  And,
  Or,
  Conditional, ///< children: value, condition, other (null if absent)
};

struct Argument {
  enum Kind : uint8_t { Positional, Named, Star, DoubleStar } kind;
  std::string name;
  ExprPtr value;
};

struct Expr {
  ExprKind kind;
  Position position;
  std::string name;
  Value constant;
  std::vector<ExprPtr> children;
  std::vector<std::string> operators;
  std::vector<Argument> arguments;
  uint32_t depth = 1; ///< The depth of the tree from here.
};

struct Stmt;
using Body = std::vector<std::unique_ptr<Stmt>>;

enum class StmtKind : uint8_t {
  Text,     ///< text
  Print,    ///< expr
  If,       ///< branches
  For,      ///< target, expr, filter, body, otherwise
  Set,      ///< target, expr
  SetBlock, ///< target, expr: a chain of filters or null, body
  Macro,    ///< macro
  Call,     ///< expr: a Call; macro: its caller()
  Filter,   ///< expr: a chain of filters, body
  With,     ///< bindings, body
  Scope,    ///< body, in a scope of its own
  Break,
  Continue,
};

struct Target {
  Position position;
  std::string name;      ///< Empty for a tuple.
  std::string attribute; ///< The attribute of a namespace.
  std::vector<Target> parts;
};

struct MacroNode {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<ExprPtr> defaults; ///< The defaults of the last parameters.
  bool takesCaller = false;
  bool takesKwargs = false;
  bool takesVarargs = false;
  Body body;
};

struct Branch {
  ExprPtr condition; ///< Null for else.
  Body body;
};

struct Binding {
  Target target;
  ExprPtr value;
};

struct Stmt {
  StmtKind kind;
  Position position;
  std::string text;
  ExprPtr expr;
  ExprPtr filter;
  Target target;
  std::vector<Branch> branches;
  std::vector<Binding> bindings;
  Body body;
  Body otherwise;
  std::unique_ptr<MacroNode> macro;
  bool isRecursive = false;
  bool isGlobal = false; ///< A Scope that sees no loop around it.
};

/// The blocks of a template by name.
using Blocks = std::map<std::string, const Stmt *, std::less<>>;

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_PARSE_AST_H
