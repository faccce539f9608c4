// The flag table as text for people.
#pragma once

#include <string>

#include "server/app/flag_table.h"

namespace affine {

/// What --help prints: usage, then each group's flags with help, default and environment name.
std::string HelpPage(const FlagTable& table);

/// What --help=markdown prints: the table of flags that the README carries.
std::string MarkdownFlags(const FlagTable& table);

}  // namespace affine
