// Typed, range-checked access to a JSON object that a stranger wrote.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace affine {

/// Refers to a document that must outlive it. Every error is a ModelError that names the file, the
/// field, its value and what is allowed. A field that is null counts as absent.
class JsonObject {
 public:
  /// `place` says where the object stands, for messages: "config.json" or "config.json: attention".
  JsonObject(const nlohmann::json& object, std::string place);

  bool Has(const char* name) const { return Find(name) != nullptr; }
  int32_t Int(const char* name, int32_t least, int32_t most) const;
  int32_t Int(const char* name, int32_t least, int32_t most, int32_t absent) const;
  double Number(const char* name, double least, double most) const;
  double Number(const char* name, double least, double most, double absent) const;
  bool Bool(const char* name, bool absent) const;
  /// The index of the field's text in `allowed`; unset if the field is absent.
  std::optional<size_t> Choice(const char* name, std::initializer_list<const char*> allowed) const;
  /// A list of integers, or a single one; empty if the field is absent.
  std::vector<int32_t> Ints(const char* name, int32_t least, int32_t most) const;
  std::vector<std::string> Texts(const char* name) const;
  std::optional<JsonObject> Object(const char* name) const;
  /// Refuses fields that aren't named in `allowed`.
  void RequireOnly(std::initializer_list<const char*> allowed) const;

  const nlohmann::json& json() const { return *object_; }
  /// Throws: the field, its value, `allowed` ("Allowed is ..."), the remedy.
  [[noreturn]] void Refuse(const char* name, const std::string& allowed) const;
  [[noreturn]] void RefuseAbsent(const char* name) const;

 private:
  const nlohmann::json* Find(const char* name) const;

  const nlohmann::json* object_;
  std::string place_;
};

/// Reads a JSON file of at most `max_bytes`, whose top is an object, nested at most 32 deep,
/// without a field that comes twice. Throws ModelError.
nlohmann::json ReadJsonFile(const std::string& path, size_t max_bytes);

}  // namespace affine
