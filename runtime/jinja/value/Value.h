//===- Value.h - What a template computes with ------------------*- C++ -*-===//
//
// Python's values as far as chat templates see them. A value never changes
// once it is made, but for namespaces and iterators, which a rendering makes
// and ends itself; so a context may be shared by renderings in many threads.
//
// Containers know how deep they nest and how much they hold in all (weight),
// each child counted where it stands. Both have limits, so that what walks over
// a value needs none of its own.
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

/// How deep containers may nest.
constexpr uint32_t kMaxValueDepth = 200;
/// What a value may weigh: each element 1, each 16 bytes of text 1.
constexpr uint64_t kMaxWeight = uint64_t(1) << 23;
/// The longest text.
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
  Iterator, ///< What a lazy filter yields: it can be walked once.
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
  bool isSafe;       ///< Markup: what is added to it gets escaped.
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
  /// None.
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
  /// An integer of more than 64 bits, by its digits. It prints as they are and
  /// counts as the nearest double.
  static Value wideInteger(std::string digits, double nearest);
  /// A string; `bytes` must be well-formed UTF-8.
  explicit Value(std::string bytes, bool isSafe = false);
  explicit Value(const char *) = delete;

  /// What a name, key or attribute yields that does not exist. `why` is what an
  /// error says where more is done with it than to print or test it.
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
  /// A bool counts as the integer that it is in Python.
  bool isInteger() const { return tag == Kind::Int || tag == Kind::Bool; }
  /// The digits of a wide integer, which is a Kind::Float; else null.
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

  /// The object of a kind that has one; the caller has looked at kind().
  template <typename T>
  T &as() const {
    return *static_cast<T *>(object.get());
  }
  const Text &text() const { return as<const Text>(); }
  const std::string &bytes() const { return text().bytes; }
  const Items &items() const;
  const Dict &dict() const;
  Object &asObject() const { return as<Object>(); }
  /// Whether both are the same object (Python's `is`).
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

/// Of a list or tuple.
struct Sequence {
  Items items;
  uint32_t depth;
  uint64_t weight;
};

/// In the order of insertion, with an index for look-ups.
struct Dict {
  std::vector<std::pair<Value, Value>> entries;
  std::vector<uint32_t> order; ///< Entries sorted by key.
  uint32_t depth;
  uint64_t weight;

  /// The value of a key that can be one, or null.
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
  const char *name; ///< Of Python's type.
};

struct Namespace {
  std::map<std::string, Value, std::less<>> attributes;
  std::vector<std::string> order;
};

struct Method {
  Value self;
  std::string name;
};

/// A value that only its functions describe.
class Object {
public:
  virtual ~Object() = default;
  Object() = default;
  Object(const Object &) = delete;
  Object &operator=(const Object &) = delete;

  /// The name of the object in an error: "a loop".
  virtual std::string describe() const = 0;
  virtual bool isCallable() const { return false; }
  virtual Result<Value> call(Arguments &arguments);
  /// The attribute or item, or nothing.
  virtual Result<std::optional<Value>> attribute(const std::string &name);
  virtual Result<std::optional<Value>> item(const std::string &name);
  /// The names of methods, each between two spaces.
  virtual std::string_view methods() const { return ""; }
  /// Calls one of methods().
  virtual Result<Value> callMethod(const std::string &name,
                                   const Arguments &arguments);
  virtual Result<std::string> toText();
  /// Whether length() has a result. Such an object is true unless that is 0.
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

/// Collects the entries of a dict: a later value of a key replaces the one
/// before, at its place.
class DictBuilder {
public:
  /// Fails if `key` can be no key, as a list cannot.
  Status add(Value key, Value value);
  Result<Value> build() &&;

private:
  std::vector<std::pair<Value, Value>> entries;
};

/// Whether it has a hash in Python.
bool isHashable(const Value &value);

/// A total order of keys, in which those are equal that Python calls equal.
int orderKeys(const Value &left, const Value &right);

/// What an error calls a value: "a string", "'x' is undefined".
std::string describe(const Value &value);

/// "expected `what`, got <the value>".
Status expected(std::string_view what, const Value &value);

} // namespace mtp::jinja

#endif // MTP_RUNTIME_JINJA_VALUE_VALUE_H
