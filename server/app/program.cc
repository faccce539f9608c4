#include "server/app/program.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <memory>
#include <ostream>
#include <system_error>
#include <utility>
#include <vector>

#include "server/app/api_key.h"
#include "server/app/app.h"
#include "server/app/farewell.h"
#include "server/app/help_page.h"
#include "server/app/model_choice.h"

namespace affine {
namespace {

LogOptions MakeLogOptions(const Config& config) {
  LogOptions options;
  const bool text =
      config.log_format == "text" || (config.log_format == "auto" && isatty(STDERR_FILENO) == 1);
  options.format = text ? LogFormat::kText : LogFormat::kJson;
  if (config.log_level == "debug") options.level = LogLevel::kDebug;
  if (config.log_level == "warning") options.level = LogLevel::kWarning;
  if (config.log_level == "error") options.level = LogLevel::kError;
  return options;
}

}  // namespace

Program::Program(std::string version, ModelLoaders loaders, std::ostream& out)
    : version_(std::move(version)), loaders_(std::move(loaders)), out_(out) {}

int Program::Main(std::span<const std::string> arguments, const Environment& environment) {
  InstallFarewellForUncaught();
  try {
    return SayFarewell(Run(arguments, environment));
  } catch (const std::exception& error) {
    return SayFarewell({ExitCode::kBroken, std::string("internal error: ") + error.what()});
  }
}

Outcome Program::Run(std::span<const std::string> arguments, const Environment& environment) {
  const FlagTable table;
  auto command = CommandReader(table).Read(arguments, environment);
  if (const auto* error = std::get_if<UsageError>(&command)) {
    return {ExitCode::kUsage, error->message};
  }
  Command& read = std::get<Command>(command);
  switch (read.action) {
    case Command::Action::kHelp:
      out_ << HelpPage(table) << std::flush;
      return {};
    case Command::Action::kMarkdownHelp:
      out_ << MarkdownFlags(table) << std::flush;
      return {};
    case Command::Action::kVersion:
      out_ << "affine_server " << version_ << std::endl;
      return {};
    case Command::Action::kServe:
      break;
  }
  return Serve(std::move(read));
}

Outcome Program::Serve(Command command) {
  auto chosen = ChooseModels(command.config);
  if (const auto* error = std::get_if<UsageError>(&chosen)) {
    return {ExitCode::kUsage, error->message};
  }
  auto& choices = std::get<std::vector<ModelChoice>>(chosen);
  for (const ModelChoice& choice : choices) {
    std::error_code unreadable;
    if (std::filesystem::is_directory(choice.folder, unreadable)) continue;
    return {ExitCode::kConfig, "--model is '" + choice.folder +
                                   "', but there is no such folder; name one that holds " +
                                   "config.json, tokenizer.json and *.safetensors"};
  }
  auto key = ReadApiKey(command.config);
  if (const auto* outcome = std::get_if<Outcome>(&key)) return *outcome;
  command.config.api_key = std::get<std::string>(key);

  SignalInbox inbox;  // before any thread
  ServerLog log(MakeLogOptions(command.config), std::make_shared<spdlog::sinks::stderr_sink_mt>());
  for (const std::string& warning : command.warnings) {
    log.Write(LogLevel::kWarning, "affine.flags", warning);
  }
  App app(command.config, std::move(choices), version_, {inbox, log, out_, loaders_});
  return app.Run();
}

}  // namespace affine
