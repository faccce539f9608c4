#include "server/app/command.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "server/app/nearest_name.h"

namespace affine {

struct CommandReader::Progress {
  std::span<const std::string> arguments;
  size_t next = 0;
  bool flags_ended = false;            // after "--"
  const Flag* bare_boolean = nullptr;  // the argument just read was --flag without a value
  std::vector<std::string> positionals;
  bool model_flag = false;  // --model was on the command line
  Command command;
  std::string error;
};

namespace {

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool LooksBoolean(std::string_view text) {
  return text == "true" || text == "false" || text == "0" || text == "1" || text == "yes" ||
         text == "no";
}

/// What follows "no" in --nox, --no-x and --no_x.
std::optional<std::string_view> NegatedName(std::string_view name) {
  if (!StartsWith(name, "no")) return std::nullopt;
  name.remove_prefix(2);
  if (!name.empty() && (name.front() == '-' || name.front() == '_')) name.remove_prefix(1);
  return name;
}

/// As --model lists several.
std::string Joined(const std::vector<std::string>& models) {
  std::string list;
  for (const std::string& model : models) {
    if (&model != &models.front()) list += ',';
    list += model;
  }
  return list;
}

std::string BothWays(std::string_view flag, std::string_view positional) {
  std::string message("--model is '");
  message.append(flag).append("', but '").append(positional);
  return message +
         "' was given as a model too; name all models in one of the two ways: --model=A,B, or A B "
         "without a flag";
}

/// Flags that are right by themselves and wrong together.
std::optional<UsageError> Contradiction(const Config& config) {
  if (config.max_num_batched_tokens < config.max_num_seqs) {
    return UsageError{
        "--max_num_batched_tokens is " + std::to_string(config.max_num_batched_tokens) +
        ", but must be at least --max_num_seqs, which is " + std::to_string(config.max_num_seqs) +
        ", so that each sequence can take a token in one step; raise the first or "
        "lower the second"};
  }
  if (config.prompt_lookup_min > config.prompt_lookup_max) {
    return UsageError{"--prompt_lookup_min is " + std::to_string(config.prompt_lookup_min) +
                      ", but must be at most --prompt_lookup_max, which is " +
                      std::to_string(config.prompt_lookup_max) +
                      "; lower the first or raise the second"};
  }
  if (!config.api_key.empty() && !config.api_key_file.empty()) {
    return UsageError{
        "--api_key and --api_key_file are both set, but there is one key; "
        "leave one of them out"};
  }
  return std::nullopt;
}

}  // namespace

std::variant<Command, UsageError> CommandReader::Read(std::span<const std::string> arguments,
                                                      const Environment& environment) const {
  Progress progress;
  progress.arguments = arguments;
  ReadEnvironment(environment, progress);
  const std::string environment_error = std::exchange(progress.error, "");
  while (progress.next < arguments.size() && progress.error.empty()) {
    ReadArgument(progress);
    // Whoever asks for help gets it, whatever else is wrong.
    if (progress.command.action != Command::Action::kServe) return std::move(progress.command);
  }
  if (!progress.error.empty()) return UsageError{progress.error};
  if (!environment_error.empty()) return UsageError{environment_error};
  if (auto error = Contradiction(progress.command.config)) return *error;
  if (!progress.positionals.empty()) progress.command.config.model = Joined(progress.positionals);
  return std::move(progress.command);
}

void CommandReader::ReadEnvironment(const Environment& environment, Progress& progress) const {
  std::vector<std::string> names;
  for (const Flag& flag : table_.flags()) names.push_back(flag.environment_name());
  for (const auto& [name, value] : environment) {
    if (!StartsWith(name, "AFFINE_") || value.empty() || !progress.error.empty()) continue;
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) {
      const std::string nearest = NearestName(name, names);
      // Distance 2 and no more: others may use the prefix too.
      if (!nearest.empty() && EditDistance(name, nearest) <= 2) {
        progress.command.warnings.push_back("the environment variable " + name +
                                            " is not known and was ignored; did you mean " +
                                            nearest + "?");
      }
      continue;
    }
    // Kubernetes sets AFFINE_PORT=tcp://... in every pod beside a Service named "affine".
    if (StartsWith(value, "tcp://") || StartsWith(value, "udp://")) {
      progress.command.warnings.push_back(
          name + " is " + value +
          ", which Kubernetes sets for a Service of that name; it was ignored. Set "
          "enableServiceLinks: false in the pod's specification");
      continue;
    }
    Set(table_.flags()[static_cast<size_t>(known - names.begin())], value, name, progress);
  }
}

void CommandReader::ReadArgument(Progress& progress) const {
  const std::string& argument = progress.arguments[progress.next++];
  const Flag* bare_boolean = std::exchange(progress.bare_boolean, nullptr);
  if (argument == "--" && !progress.flags_ended) {
    progress.flags_ended = true;
    return;
  }
  if (progress.flags_ended || argument.size() < 2 || argument.front() != '-') {
    if (bare_boolean != nullptr && LooksBoolean(argument)) {
      progress.error = "--" + bare_boolean->name +
                       " takes its value after an equals sign: write --" + bare_boolean->name +
                       "=" + argument;
      return;
    }
    return ReadPositional(argument, progress);
  }
  std::string_view flag = argument;
  flag.remove_prefix(StartsWith(flag, "--") ? 2 : 1);
  const size_t equals = flag.find('=');
  if (equals == std::string_view::npos) return ReadFlag(flag, std::nullopt, progress);
  ReadFlag(flag.substr(0, equals), flag.substr(equals + 1), progress);
}

void CommandReader::ReadFlag(std::string_view name, std::optional<std::string_view> value,
                             Progress& progress) const {
  if (name == "help" || name == "h") {
    const bool markdown = value == "markdown";
    progress.command.action = markdown ? Command::Action::kMarkdownHelp : Command::Action::kHelp;
    return;
  }
  if (name == "version") {
    progress.command.action = Command::Action::kVersion;
    return;
  }
  const Flag* flag = table_.Find(name);
  if (flag == nullptr) {
    const auto negated = NegatedName(name);
    flag = negated ? table_.Find(*negated) : nullptr;
    if (flag == nullptr || !flag->boolean()) {
      progress.error = Unknown(name);
    } else if (value) {
      progress.error = "--" + std::string(name) + " takes no value; write --" + flag->name + "=" +
                       std::string(*value);
    } else {
      Set(*flag, "false", "--" + std::string(name), progress);
    }
    return;
  }
  const std::string source = "--" + flag->name;
  if (flag->name == "model") progress.model_flag = true;
  if (value) return Set(*flag, *value, source, progress);
  if (flag->boolean()) {
    progress.bare_boolean = flag;
    return Set(*flag, "true", source, progress);
  }
  const bool at_end = progress.next >= progress.arguments.size();
  if (at_end || StartsWith(progress.arguments[progress.next], "--")) {
    progress.error = source + " needs a value: " + source + "=" + flag->value_name;
    return;
  }
  Set(*flag, progress.arguments[progress.next++], source, progress);
}

void CommandReader::ReadPositional(const std::string& argument, Progress& progress) const {
  if (progress.model_flag) {
    progress.error = BothWays(progress.command.config.model, argument);
    return;
  }
  progress.positionals.push_back(argument);
}

void CommandReader::Set(const Flag& flag, std::string_view value, const std::string& source,
                        Progress& progress) const {
  if (flag.name == "model" && !progress.positionals.empty()) {
    progress.error = BothWays(value, Joined(progress.positionals));
    return;
  }
  if (auto problem = flag.set(value, progress.command.config)) {
    std::string shown = "(hidden)";
    if (!flag.secret) shown.assign("'").append(value).append("'");
    progress.error = source + " is " + shown + ", but " + *problem;
  }
}

std::string CommandReader::Unknown(std::string_view name) const {
  std::vector<std::string> names = table_.Names();
  names.insert(names.end(), {"help", "version"});
  std::string normal(name);
  std::replace(normal.begin(), normal.end(), '-', '_');
  const std::string nearest = NearestName(normal, names);
  std::string message = "unknown flag --" + std::string(name);
  if (!nearest.empty()) message += "; did you mean --" + nearest + "?";
  return message + " (--help lists all flags)";
}

Environment ReadProcessEnvironment(const char* const* entries) {
  Environment environment;
  for (; *entries != nullptr; ++entries) {
    const std::string_view entry = *entries;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return environment;
}

}  // namespace affine
