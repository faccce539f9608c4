// Streams one completion to stdout; Ctrl-C cancels it on the server.
//
//   affine_complete_example --address 127.0.0.1:8000 --prompt "Once upon a time" --max_tokens 64
#include <grpcpp/grpcpp.h>
#include <pthread.h>
#include <signal.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "affine/v1/completion.grpc.pb.h"

namespace {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
constexpr int kExitUnreachable = 69;
constexpr int kExitInterrupted = 130;
constexpr char kUsage[] =
    "usage: affine_complete_example [--address HOST:PORT] [--prompt TEXT] [--max_tokens N]\n";

struct Flags {
  std::string address = "127.0.0.1:8000";
  std::string prompt = "The capital of France is";
  uint32_t max_tokens = 64;
};

/// Reads --name=value and --name value; returns what is wrong with the command line.
std::optional<std::string> ParseFlags(int argc, char** argv, Flags& flags) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const size_t equals = argument.find('=');
    const std::string name(argument.substr(0, equals));
    if (name != "--address" && name != "--prompt" && name != "--max_tokens") {
      return "unknown flag " + name;
    }
    if (equals == std::string_view::npos && i + 1 == argc) return name + " needs a value";
    const std::string value(equals == std::string_view::npos ? std::string_view(argv[++i])
                                                             : argument.substr(equals + 1));
    if (name == "--address") flags.address = value;
    if (name == "--prompt") flags.prompt = value;
    if (name == "--max_tokens") {
      const char* end = value.data() + value.size();
      const auto [stop, error] = std::from_chars(value.data(), end, flags.max_tokens);
      if (error != std::errc() || stop != end) {
        return "--max_tokens is '" + value + "'; it must be a whole number from 0 to 4294967295";
      }
    }
  }
  return std::nullopt;
}

/// Cancels a call on SIGINT. Construct before any other thread starts: they inherit the mask, so
/// that the signal reaches the waiting thread alone, where any function may be called.
class InterruptWatch {
 public:
  explicit InterruptWatch(grpc::ClientContext& context) {
    sigemptyset(&signals_);
    sigaddset(&signals_, SIGINT);
    sigaddset(&signals_, SIGUSR1);  // ends the wait
    pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
    thread_ = std::thread([this, &context] {
      int signal = 0;
      sigwait(&signals_, &signal);
      if (signal == SIGINT) context.TryCancel();
    });
  }
  ~InterruptWatch() {
    pthread_kill(thread_.native_handle(), SIGUSR1);
    thread_.join();
  }
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  sigset_t signals_;
  std::thread thread_;
};

/// Prints the pieces as they come; returns how the call ended.
grpc::Status StreamCompletion(const Flags& flags, grpc::ClientContext& context) {
  const auto channel = grpc::CreateChannel(flags.address, grpc::InsecureChannelCredentials());
  const auto stub = affine::v1::CompletionService::NewStub(channel);
  affine::v1::CompleteRequest request;
  request.set_text(flags.prompt);
  request.set_max_tokens(flags.max_tokens);

  const auto reader = stub->StreamComplete(&context, request);
  affine::v1::CompleteChunk chunk;
  while (reader->Read(&chunk)) {
    std::cout << chunk.text() << std::flush;
  }
  std::cout << std::endl;
  return reader->Finish();
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  if (const auto problem = ParseFlags(argc, argv, flags)) {
    std::cerr << *problem << '\n' << kUsage;
    return kExitUsage;
  }
  grpc::ClientContext context;
  const InterruptWatch watch(context);
  const grpc::Status status = StreamCompletion(flags, context);
  if (status.ok()) return EXIT_SUCCESS;
  if (status.error_code() == grpc::StatusCode::CANCELLED) return kExitInterrupted;
  std::cerr << flags.address << ": " << status.error_message() << '\n';
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ? kExitUnreachable : kExitFailure;
}
