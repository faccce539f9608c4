#include "server/api/front_door.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read.hpp>
#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/api/loopback_client.h"

namespace affine {
namespace {

using ::testing::HasSubstr;

/// Keeps what the door hands on.
class Takers {
 public:
  FrontDoor::TakeGrpc grpc() {
    return [this](int descriptor) {
      const std::lock_guard lock(mutex_);
      grpc_.push_back(descriptor);
      changed_.notify_all();
    };
  }
  FrontDoor::TakeHttp http() {
    return [this](FrontDoor::Socket socket) {
      const std::lock_guard lock(mutex_);
      http_.push_back(std::move(socket));
      changed_.notify_all();
    };
  }
  int AwaitGrpc() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !grpc_.empty(); });
    return grpc_.front();
  }
  FrontDoor::Socket& AwaitHttp(size_t count = 1) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return http_.size() >= count; });
    return http_[count - 1];
  }
  size_t grpc_count() {
    const std::lock_guard lock(mutex_);
    return grpc_.size();
  }
  size_t http_count() {
    const std::lock_guard lock(mutex_);
    return http_.size();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> grpc_;
  std::deque<FrontDoor::Socket> http_;
};

class FrontDoorTest : public ::testing::Test {
 protected:
  ~FrontDoorTest() override {
    if (door_) CloseDoor();
    guard_.reset();
    context_.stop();
    if (thread_.joinable()) thread_.join();
  }
  std::optional<std::string> Open(FrontDoorOptions options = {}) {
    door_.emplace(context_, options, takers_.grpc(), takers_.http());
    auto error = door_->Listen();
    thread_ = std::thread([this] { context_.run(); });
    return error;
  }
  void CloseDoor() {
    std::promise<void> closed;
    door_->Close([&] { closed.set_value(); });
    closed.get_future().wait();
  }

  boost::asio::io_context context_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_ =
      boost::asio::make_work_guard(context_);
  Takers takers_;
  std::optional<FrontDoor> door_;
  std::thread thread_;
};

TEST_F(FrontDoorTest, HandsAnHttp2PrefaceToGrpcUnreadAndNonBlocking) {
  ASSERT_EQ(Open(), std::nullopt);
  LoopbackClient client(door_->port());
  ASSERT_TRUE(client.Send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
  const int descriptor = takers_.AwaitGrpc();
  EXPECT_NE(::fcntl(descriptor, F_GETFL) & O_NONBLOCK, 0);
  char first[24] = {};
  EXPECT_EQ(::recv(descriptor, first, sizeof first, 0), 24);
  EXPECT_EQ(std::string_view(first, 24), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  EXPECT_EQ(takers_.http_count(), 0u);
  ::close(descriptor);
}

TEST_F(FrontDoorTest, HandsAnythingElseToHttpUnread) {
  ASSERT_EQ(Open(), std::nullopt);
  LoopbackClient client(door_->port());
  ASSERT_TRUE(client.Send("PUT / HTTP/1.1\r\n\r\n"));
  FrontDoor::Socket& socket = takers_.AwaitHttp();
  std::string line(7, ' ');
  boost::asio::read(socket, boost::asio::buffer(line));
  EXPECT_EQ(line, "PUT / H");
  EXPECT_EQ(takers_.grpc_count(), 0u);
}

TEST_F(FrontDoorTest, WaitsForThreeBytesBeforeItJudges) {
  ASSERT_EQ(Open(), std::nullopt);
  LoopbackClient split(door_->port());
  ASSERT_TRUE(split.Send("P"));
  // A second client goes through meanwhile: the first keeps nobody waiting, and is not judged yet.
  LoopbackClient other(door_->port());
  ASSERT_TRUE(other.Send("GET"));
  takers_.AwaitHttp();
  EXPECT_EQ(takers_.grpc_count(), 0u);
  ASSERT_TRUE(split.Send("R"));
  ASSERT_TRUE(split.Send("I * HTTP/2.0"));
  const int descriptor = takers_.AwaitGrpc();
  int low_water = 0;
  socklen_t size = sizeof low_water;
  ASSERT_EQ(::getsockopt(descriptor, SOL_SOCKET, SO_RCVLOWAT, &low_water, &size), 0);
  EXPECT_EQ(low_water, 1);
  ::close(descriptor);
}

TEST_F(FrontDoorTest, GivesAClientThatEndsEarlyToHttp) {
  ASSERT_EQ(Open(), std::nullopt);
  LoopbackClient client(door_->port());
  ASSERT_TRUE(client.Send("PR"));
  client.EndSending();
  takers_.AwaitHttp();
  LoopbackClient mute(door_->port());
  mute.EndSending();
  takers_.AwaitHttp(2);
  EXPECT_EQ(takers_.grpc_count(), 0u);
}

TEST_F(FrontDoorTest, ClosesAClientThatStaysSilent) {
  ASSERT_EQ(Open({.silence = std::chrono::milliseconds(20)}), std::nullopt);
  LoopbackClient client(door_->port());
  ASSERT_TRUE(client.Send("PR"));
  EXPECT_EQ(client.ReadToEnd(), "");
  EXPECT_EQ(takers_.http_count() + takers_.grpc_count(), 0u);
}

TEST_F(FrontDoorTest, TheOldestSilentClientMakesRoom) {
  ASSERT_EQ(Open({.max_silent = 2}), std::nullopt);
  LoopbackClient oldest(door_->port());
  LoopbackClient second(door_->port());
  LoopbackClient third(door_->port());
  EXPECT_EQ(oldest.ReadToEnd(), "");
  ASSERT_TRUE(second.Send("GET"));
  takers_.AwaitHttp(1);
  ASSERT_TRUE(third.Send("GET"));
  takers_.AwaitHttp(2);
}

TEST_F(FrontDoorTest, GoesOnAcceptingAfterDescriptorsRanOut) {
  ASSERT_EQ(Open({.accept_rest = std::chrono::milliseconds(1)}), std::nullopt);
  LoopbackClient client;
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  std::vector<int> hoard;
  for (int one = ::dup(0); one >= 0; one = ::dup(0)) hoard.push_back(one);
  client.Connect(door_->port());
  ASSERT_TRUE(client.Send("GET"));
  for (int turn = 0; turn < 10;
       ++turn) {  // the loop has its turns; the failed accepts are among them
    std::promise<void> reached;
    boost::asio::post(context_, [&] { reached.set_value(); });
    reached.get_future().wait();
  }
  EXPECT_EQ(takers_.http_count(), 0u);
  for (const int one : hoard) ::close(one);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  takers_.AwaitHttp();
}

TEST_F(FrontDoorTest, ClosingDropsSilentClientsAndTheListeningPort) {
  ASSERT_EQ(Open(), std::nullopt);
  LoopbackClient silent(door_->port());
  LoopbackClient heard(door_->port());
  ASSERT_TRUE(heard.Send("GET"));
  takers_.AwaitHttp();
  CloseDoor();
  EXPECT_EQ(silent.ReadToEnd(), "");
  EXPECT_FALSE(LoopbackClient(door_->port()).connected());
}

TEST_F(FrontDoorTest, SaysThatAPortIsInUseAndWhatToDo) {
  ASSERT_EQ(Open(), std::nullopt);
  FrontDoor second(context_, {.port = door_->port()}, takers_.grpc(), takers_.http());
  EXPECT_EQ(second.Listen(), "--port: 127.0.0.1:" + std::to_string(door_->port()) +
                                 " is already in use; choose another with --port, 0 takes any free "
                                 "one");
}

TEST_F(FrontDoorTest, NamesAnUnknownHost) {
  FrontDoor door(context_, {.host = "no such host"}, takers_.grpc(), takers_.http());
  EXPECT_THAT(door.Listen().value_or(""), HasSubstr("--host: no such host is not a known name"));
}

TEST_F(FrontDoorTest, NamesAnAddressOfAnotherMachine) {
  FrontDoor door(context_, {.host = "192.0.2.1"}, takers_.grpc(), takers_.http());
  EXPECT_THAT(door.Listen().value_or(""),
              HasSubstr("--host: 192.0.2.1 is not an address of this machine"));
}

TEST_F(FrontDoorTest, NamesAPortOutOfRange) {
  FrontDoor door(context_, {.port = 65536}, takers_.grpc(), takers_.http());
  EXPECT_THAT(door.Listen().value_or(""), HasSubstr("--port is 65536; it must be from 1 to 65535"));
}

TEST_F(FrontDoorTest, ListensOnAHostNameByIpv4First) {
  ASSERT_EQ(Open({.host = "localhost"}), std::nullopt);
  EXPECT_TRUE(LoopbackClient(door_->port()).connected());
}

TEST_F(FrontDoorTest, TakesIpv4ClientsOnTheUnspecifiedIpv6Address) {
  const int probe = ::socket(AF_INET6, SOCK_STREAM, 0);
  const bool has_ipv6 = probe >= 0;
  ::close(probe);
  const auto error = Open({.host = "[::]"});
  ASSERT_EQ(error.has_value(), !has_ipv6) << error.value_or("");
  if (!has_ipv6) return;  // what could be checked has been: the error
  EXPECT_TRUE(LoopbackClient(door_->port()).connected());
}

}  // namespace
}  // namespace affine
