#include "server/app/farewell.h"

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>

namespace affine {
namespace {

constexpr size_t kTerminationLogBytes = 4096;

void NoteTermination(const std::string& cause, const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return;
  // It may not be ours to write; stderr has the cause in any case.
  std::ofstream(path, std::ios::binary) << cause.substr(0, kTerminationLogBytes);
}

std::string DescribeCurrentException() {
  const std::exception_ptr current = std::current_exception();
  if (!current) return "std::terminate was called";
  try {
    std::rethrow_exception(current);
  } catch (const std::exception& exception) {
    return exception.what();
  } catch (...) {
    return "something that is not a std::exception was thrown";
  }
}

[[noreturn]] void EndUncaught() {
  const Outcome outcome{ExitCode::kBroken, "internal error: " + DescribeCurrentException() +
                                               "; this is a fault of the server, please report it"};
  std::_Exit(SayFarewell(outcome));
}

}  // namespace

int SayFarewell(const Outcome& outcome, const std::string& termination_log) {
  if (!outcome.cause.empty()) {
    std::cerr << "affine_server: " << outcome.cause << std::endl;
    NoteTermination(outcome.cause, termination_log);
  }
  return static_cast<int>(outcome.code);
}

void EndNow(ServerLog& log, const Outcome& outcome) {
  log.Close();
  std::_Exit(SayFarewell(outcome));
}

void InstallFarewellForUncaught() { std::set_terminate(EndUncaught); }

}  // namespace affine
