//===- Value.h - Values of templates ----------------------------*- C++ -*-===//
//
// The values that templates compute with, which behave like Python's. A value
// never changes, except namespaces, iterators and objects. A rendering creates
// and ends these three, so renderings in several threads may share a context.
//
// A container stores its depth and its weight, which counts each child as often
// as it occurs. Both have limits, so a walk over a value needs no limit.
//
//===----------------------------------------------------------------------===//

#ifndef MTP_RUNTIME_JINJA_VALUE_VALUE_H
#define MTP_RUNTIME_JINJA_VALUE_VALUE_H

#include "runtime/core/Result.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mtp::jinja {

/// The limit of the depth of containers.
constexpr uint32_t kMaxValueDepth = 200;
/// The limit of a value's weight: 1 for each element and for each 16 bytes of
/// text.
constexpr uint64_t kMaxWeight = uint64_t(1) << 23;
/// The limit of a text's size.
constexpr size_t kMaxTextBytes = size_t(1) << 26;

enum class Kind : uint8_t {
  Undefined,
  None,
  Bool,
  Int,
  Float,
  String,
  List,
  Tuple,
  Dict,
  Range,
  View,     ///< keys(), values() or items() of a dict.
  Iterator, ///< The items of a lazy filter, which can be read once.
  Namespace,
  Function, ///< One of Jinja's or transformers' global functions.
  Method,   ///< A method of a value, before its call.
  Object,   ///< A loop, a macro and the like: see class Object.
};

class Value;
using Items = std::vector<Value>;

struct Text {
  std::string bytes; ///< Well-formed UTF-8.
  size_t length;     ///< In code points.
  bool isSafe;       ///< Markup: text that is added to it gets escaped.
};
struct Sequence;
struct Dict;
struct Range {
  int64_t start, stop, step;
  int64_t length;
};
struct View;
struct Iterator;
struct Namespace;
struct Method;
class Object;
struct Arguments;

/// The global functions.
enum class Builtin : uint8_t {
  Range,
  Dict,
  Namespace,
  Raise,
  StrftimeNow,
  Joiner,
  Cycler,
};

class Value {
public:
  /// Makes None.
  Value() : number{} {}
  explicit Value(bool flag) : tag(Kind::Bool), number{} { number.flag = flag; }
  explicit Value(int64_t integer) : tag(Kind::Int), number{} {
    number.integer = integer;
  }
  explicit Value(double real) : tag(Kind::Float), number{} {
    number.real = real;
  }
  explicit Value(Builtin function) : tag(Kind::Function), number{} {
    number.function = function;
  }
  /// Returns an integer of more than 64 bits. It prints with its digits, and
  /// arithmetic uses the nearest double.
  static Value wideInteger(std::string digits, double nearest);
  /// Makes a string. `bytes` must be well-formed UTF-8.
  explicit Value(std::string bytes, bool isSafe = false);
  explicit Value(const char *) = delete;

  /// Returns the value of a name, key or attribute that does not exist.
  /// Printing and testing it is allowed. The error of any other use contains
  /// `why`.
  static Value undefined(std::string why);

  template <typename T>
  static Value of(Kind kind, std::shared_ptr<T> object) {
    Value value;
    value.tag = kind;
    value.object = std::move(object);
    return value;
  }

  Kind kind() const { return tag; }
  bool is(Kind kind) const { return tag == kind; }
  bool isUndefined() const { return tag == Kind::Undefined; }
  bool isNone() const { return tag == Kind::None; }
  bool isString() const { return tag == Kind::String; }
  /// Returns true for a bool too, which is an integer in Python.
  bool isInteger() const { return tag == Kind::Int || tag == Kind::Bool; }
  /// Returns the digits of a wide integer, whose kind is Float, or null.
  const std::string *wideDigits() const {
    return tag == Kind::Float ? static_cast<const std::string *>(object.get())
                              : nullptr;
  }
  bool isNumber() const { return isInteger() || tag == Kind::Float; }
  bool isListOrTuple() const { return tag == Kind::List || tag == Kind::Tuple; }

  bool flag() const { return number.flag; }
  int64_t integer() const {
    return tag == Kind::Bool ? int64_t(number.flag) : number.integer;
  }
  double real() const {
    return tag == Kind::Float ? number.real : static_cast<double>(integer());
  }
  Builtin function() const { return number.function; }

  /// Returns the object. The caller has checked kind().
  template <typename T>
  T &as() const {
    return *static_cast<T *>(object.get());
  }
  const Text &text() const { return as<const Text>(); }
  const std::string &bytes() const { return text().bytes; }
  const Items &items() const;
  const Dict &dict() const;
  Object &asObject() const { return as<Object>(); }
  /// Returns whether both are one object (Python's `is`).
  bool isSame(const Value &other) const;

  uint64_t weight() const;
  uint32_t depth() const;

private:
  Kind tag = Kind::None;
  union {
    bool flag;
    int64_t integer;
    double real;
    Builtin function;
  } number;
  std::shared_ptr<void> object;
};

/// The items of a list or tuple.
struct Sequence {
  Items items;
  uint32_t depth;
  uint64_t weight;
};

/// Entries in the order of insertion, with an index for look-ups.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  std::vector<uint32_t> order; ///< Entries sorted by key.
  uint32_t depth;
  uint64_t weight;

  /// Returns the value of a hashable key, or null.
  const Value *find(const Value &key) const;
  const Value *find(std::string_view key) const;
};

struct View {
  enum Part : uint8_t { Keys, Values, Items } part;
  Value dict;
};

struct Iterator {
  Items items;
  size_t next = 0;
  uint64_t weight;
  const char *name; ///< The name of Python's type.
};

struct Namespace {
  std::map<std::string, Value, std::less<>> attributes;
  std::vector<std::string> order;
};

struct Method {
  Value self;
  std::string name;
};

/// A value that is defined by its functions, such as a loop or a macro.
class Object {
public:
  virtual ~Object() = default;
  Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  /// Returns the name of the object in errors: "a loop".
  virtual std::string describe() const = 0;
  virtual bool isCallable() const { return false; }
  virtual Result<Value> call(Arguments &arguments);
  /// Return the attribute or item, or nothing.
  virtual Result<std::optional<Value>> attribute(const std::string &name);
  virtual Result<std::optional<Value>> item(const std::string &name);
  /// Returns the names of methods, each between two spaces.
  virtual std::string_view methods() const { return ""; }
  /// Calls one of methods().
  virtual Result<Value> callMethod(const std::string &name,
                                   const Arguments &arguments);
  virtual Result<std::string> toText();
  /// Returns whether length() succeeds. If it does, the object is true unless
  /// its length is 0.
  virtual bool hasLength() const { return false; }
  virtual Result<int64_t> length();
  virtual uint64_t weight() const { return 1; }
  virtual uint32_t depth() const { return 0; }
};

/// Fail with ResourceExhausted beyond the limits of depth and weight.
Result<Value> makeList(Items items);
Result<Value> makeTuple(Items items);
Result<Value> makeIterator(Items items, const char *name);
Result<Value> makeText(std::string bytes, bool isSafe = false);

/// Collects the entries of a dict. A second value of a key replaces the first
/// one and keeps its place.
class DictBuilder {
public:
  /// Fails if `key` is not hashable, such as a list.
  Status add(Value key, Value value);
  Result<Value> build() &&;

private:
  std::vector<std::pair<Value, Value>> entries;
};

/// Returns whether the value has a hash in Python.
bool isHashable(const Value &value);

/// Compares keys by a total order in which keys are equal if Python's are.
int orderKeys(const Value &left, const Value &right);

/// Returns the name of a value in errors: "a string", "'x' is undefined".
std::string describe(const Value &value);

/// Returns the error "expected `what`, got <the value>".
Status expected(std::string_view what, const Value &value);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_VALUE_H
