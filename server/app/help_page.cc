#include "server/app/help_page.h"

#include <sstream>
#include <string_view>

namespace affine {
namespace {

constexpr size_t kWidth = 96;
constexpr char kUsage[] =
    R"(Usage: affine_server [FLAGS] FOLDER
       affine_server [FLAGS] NAME=FOLDER NAME=FOLDER

Serves the language models in the folders over gRPC and HTTP on one port.

Flags are written --name=value or --name value; - and _ are the same. Booleans are written --name,
--name=false, --noname or --no-name. Each flag can also be set by the environment variable beside
it; a flag goes before the environment, and that before the default.
)";
constexpr char kExitCodes[] = R"(
Other:
  --help, --help=markdown, --version

Exit codes: 0 drained after SIGTERM or SIGINT; 1 failed while running; 2 a flag or variable is
wrong; 69 the port or the device can't be had; 70 internal error; 78 the model or a file of the
configuration can't be used.
)";

std::string Default(const Flag& flag) {
  const std::string text = flag.show(Config{});
  return text.empty() ? "empty" : text;
}

/// `text` in lines of at most kWidth columns, each after `indent` spaces.
std::string Wrapped(const std::string& text, size_t indent) {
  std::ostringstream page;
  std::istringstream words(text);
  size_t column = 0;
  for (std::string word; words >> word;) {
    if (column == 0 || column + 1 + word.size() > kWidth) {
      page << (column == 0 ? "" : "\n") << std::string(indent, ' ') << word;
      column = indent + word.size();
    } else {
      page << ' ' << word;
      column += 1 + word.size();
    }
  }
  page << '\n';
  return page.str();
}

std::string Written(const Flag& flag) {
  return flag.boolean() ? "--[no]" + flag.name : "--" + flag.name + "=" + flag.value_name;
}

/// `text` with a backslash before each `special`.
std::string Escaped(std::string text, char special) {
  for (size_t i = 0; (i = text.find(special, i)) != std::string::npos; i += 2) text.insert(i, "\\");
  return text;
}

}  // namespace

std::string HelpPage(const FlagTable& table) {
  std::ostringstream page;
  page << kUsage;
  std::string group;
  for (const Flag& flag : table.flags()) {
    if (flag.group != group) page << "\n" << flag.group << ":\n";
    group = flag.group;
    page << "  " << Written(flag) << "\n"
         << Wrapped(flag.help, 6) << "      Default: " << Default(flag)
         << ". Environment: " << flag.environment_name() << "\n";
  }
  page << kExitCodes;
  return page.str();
}

std::string MarkdownFlags(const FlagTable& table) {
  std::ostringstream page;
  page << "| flag | default | meaning |\n|---|---|---|\n";
  for (const Flag& flag : table.flags()) {
    page << "| `" << Escaped(Written(flag), '|') << "` | " << Default(flag) << " | "
         << Escaped(flag.help, '\\') << " |\n";
  }
  return page.str();
}

}  // namespace affine
