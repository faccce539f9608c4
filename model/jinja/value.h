// A value while a template renders, with the meaning that Python gives it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "model/jinja/work_budget.h"

namespace affine::jinja {

struct List;
struct Dict;
struct Namespace;
struct Loop;
struct MacroRef;
class Value;

using ListPtr = std::shared_ptr<const List>;
using DictPtr = std::shared_ptr<const Dict>;

/// Immutable and cheap to copy, but for namespaces, which are shared, mutable and no part of
/// another value. Nested at most kMaxValueDepth deep, so that comparing, printing and freeing may
/// recurse.
class Value {
 public:
  /// Kept apart from None; `hint` says what is undefined.
  struct Undefined {
    std::shared_ptr<const std::string> hint;
  };
  struct None {};
  /// A method of a string, list or dict that was named and not called: it is there, and no more.
  struct Method {};
  /// The functions that every template can call.
  enum class Function { kRange, kDict, kNamespace, kRaiseException, kStrftimeNow };
  using Text = std::shared_ptr<const std::string>;
  using Variant = std::variant<Undefined, None, bool, int64_t, double, Text, ListPtr, DictPtr,
                               std::shared_ptr<Namespace>, std::shared_ptr<const Loop>,
                               std::shared_ptr<const MacroRef>, Method, Function>;

  Value() : variant_(None{}) {}
  Value(Undefined value) : variant_(std::move(value)) {}
  Value(bool value) : variant_(value) {}
  Value(int64_t value) : variant_(value) {}
  Value(int value) : variant_(int64_t{value}) {}
  Value(double value) : variant_(value) {}
  Value(std::string text) : variant_(std::make_shared<const std::string>(std::move(text))) {}
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  Value(ListPtr list) : variant_(std::move(list)) {}
  Value(DictPtr dict) : variant_(std::move(dict)) {}
  Value(std::shared_ptr<Namespace> value) : variant_(std::move(value)) {}
  Value(std::shared_ptr<const Loop> value) : variant_(std::move(value)) {}
  Value(std::shared_ptr<const MacroRef> value) : variant_(std::move(value)) {}
  Value(Method value) : variant_(value) {}
  Value(Function value) : variant_(value) {}

  template <typename T>
  const T* As() const {
    return std::get_if<T>(&variant_);
  }
  bool IsUndefined() const { return As<Undefined>() != nullptr; }
  bool IsNone() const { return As<None>() != nullptr; }
  bool IsString() const { return As<Text>() != nullptr; }
  bool IsList() const { return As<ListPtr>() != nullptr; }
  bool IsDict() const { return As<DictPtr>() != nullptr; }
  const std::string& string() const { return **As<Text>(); }
  const List& list() const { return **As<ListPtr>(); }
  const Dict& dict() const { return **As<DictPtr>(); }
  const Variant& variant() const { return variant_; }

 private:
  Variant variant_;
};

/// An undefined value; printing it gives nothing, most other uses give the error `hint`.
Value UndefinedValue(std::string hint);

/// Python's list, and what else is a row of values there.
struct List {
  enum class Shape {
    kList,
    kTuple,
    kView,       // range, dict.keys() and its kin: has a length, is not printed
    kGenerator,  // what filters such as map give: always true, no length, runs out
  };
  std::vector<Value> items;
  Shape shape = Shape::kList;
  int depth = 1;
  mutable bool spent = false;  // a generator that was run through
};

/// Keys are strings, integers, floats, booleans or None, each once, in the order of insertion.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  int depth = 1;
};

struct Namespace {
  std::map<std::string, Value, std::less<>> members;
};

/// Charges for the items and checks their depth.
Value MakeList(std::vector<Value> items, WorkBudget& budget,
               List::Shape shape = List::Shape::kList);
/// Of several equal keys the last value counts, at the first one's place.
Value MakeDict(std::vector<std::pair<Value, Value>> items, WorkBudget& budget);
/// A string of `text`, charged for.
Value MakeText(std::string text, WorkBudget& budget);

/// The value under `key`, or null.
const Value* FindKey(const Dict& dict, const Value& key, WorkBudget& budget);

bool Truth(const Value& value);
/// Python's ==, charged by what is compared.
bool Equal(const Value& a, const Value& b, WorkBudget& budget);
/// Python's < where there is one. Throws for kinds without an order.
bool Less(const Value& a, const Value& b, WorkBudget& budget);
/// How deep `value` nests; 0 for what holds nothing. Throws for a namespace, which nothing may
/// hold: it is mutable, so that what holds it could come to lie inside itself.
int DepthOf(const Value& value);
/// The number that `value` is, a boolean as 0 or 1. None if it is no integer.
std::optional<int64_t> IntegerOf(const Value& value);
std::optional<double> NumberOf(const Value& value);
/// As Python names the type: "str".
const char* TypeName(const Value& value);
/// The items to iterate over. Throws where Python can't iterate; a generator is spent by it.
ListPtr Iterate(const Value& value, WorkBudget& budget);
/// len(value); throws where there is none.
int64_t LengthOf(const Value& value);
/// Throws "... is undefined" if it is.
void RequireDefined(const Value& value);

}  // namespace affine::jinja
