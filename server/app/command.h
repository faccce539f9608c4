// What the command line and the environment ask for.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/app/config.h"
#include "server/app/flag_table.h"
#include "server/app/usage_error.h"

namespace affine {

using Environment = std::map<std::string, std::string>;

struct Command {
  enum class Action { kServe, kHelp, kMarkdownHelp, kVersion };
  Action action = Action::kServe;
  Config config;
  /// Odd things that do no harm, for the log.
  std::vector<std::string> warnings;
};

/// Reads defaults, then the environment, then `arguments` (without the program's name), each over
/// the one before. Touches no file.
class CommandReader {
 public:
  /// `table` outlives this.
  explicit CommandReader(const FlagTable& table) : table_(table) {}
  std::variant<Command, UsageError> Read(std::span<const std::string> arguments,
                                         const Environment& environment) const;

 private:
  /// A position in the arguments, and what has been read so far.
  struct Progress;
  void ReadEnvironment(const Environment& environment, Progress& progress) const;
  void ReadArgument(Progress& progress) const;
  void ReadFlag(std::string_view name, std::optional<std::string_view> value,
                Progress& progress) const;
  void ReadPositional(const std::string& argument, Progress& progress) const;
  void Set(const Flag& flag, std::string_view value, const std::string& source,
           Progress& progress) const;
  std::string Unknown(std::string_view name) const;

  const FlagTable& table_;
};

/// The process's environment, from main's third argument or `environ`.
Environment ReadProcessEnvironment(const char* const* entries);

}  // namespace affine
