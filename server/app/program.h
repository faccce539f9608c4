// From arguments to an exit code: everything of main but the loaders.
#pragma once

#include <iosfwd>
#include <span>
#include <string>

#include "server/app/command.h"
#include "server/app/exit_code.h"
#include "server/app/model_loading.h"

namespace affine {

class Program {
 public:
  /// `out` gets help, version and the ready line; it outlives this.
  Program(std::string version, ModelLoaders loaders, std::ostream& out);
  /// Runs to the end and returns the exit code; a failure's cause is the last line on stderr.
  int Main(std::span<const std::string> arguments, const Environment& environment);

 private:
  Outcome Run(std::span<const std::string> arguments, const Environment& environment);
  Outcome Serve(Command command);

  const std::string version_;
  const ModelLoaders loaders_;
  std::ostream& out_;
};

}  // namespace affine
