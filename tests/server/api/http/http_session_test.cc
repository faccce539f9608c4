#include "server/api/http/http_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/server/api/http/http_harness.h"

namespace affine {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

/// Work that a test drives; it lives as long as its connection has it.
class HeldWork final : public HttpWork {
 public:
  void OnWritten() override { Count(written_); }
  void OnDisconnect() override { Count(gone_); }
  void AwaitWritten(int count) { Await(written_, count); }
  void AwaitDisconnect() { Await(gone_, 1); }

 private:
  void Count(int& counter) {
    const std::lock_guard lock(mutex_);
    ++counter;
    changed_.notify_all();
  }
  void Await(int& counter, int count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return counter >= count; });
  }
  std::mutex mutex_;
  std::condition_variable changed_;
  int written_ = 0;
  int gone_ = 0;
};

/// Echoes bodies; "/hold" leaves its answer to the test; "/no" is refused by its header.
class EchoHandler final : public HttpHandler {
 public:
  std::optional<HttpResponse> Refuse(HttpRequest& head) override {
    if (head.Path() != "/no") return std::nullopt;
    return HttpResponse{.status = 404, .body = "no"};
  }
  HttpAnswer Handle(HttpRequest request, HttpResponder& responder) override {
    if (request.Path() != "/hold") {
      return HttpResponse{.body = request.method + request.target + "[" + request.body + "]"};
    }
    const std::lock_guard lock(mutex_);
    responder_ = &responder;
    held_ = std::make_shared<HeldWork>();
    changed_.notify_all();
    return held_;
  }
  HttpResponse Malformed(int status, const std::string& message) override {
    return {.status = status, .body = message};
  }
  std::shared_ptr<HeldWork> AwaitHeld() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return held_ != nullptr; });
    return std::exchange(held_, nullptr);
  }
  /// Runs `act` with the responder of the last "/hold", on its strand.
  void Act(std::function<void(HttpResponder&)> act) {
    responder_->poster()([this, act] { act(*responder_); });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  HttpResponder* responder_ = nullptr;
  std::shared_ptr<HeldWork> held_;
};

class HttpSessionTest : public ::testing::Test {
 protected:
  EchoHandler handler_;
};

TEST_F(HttpSessionTest, KeepsTheConnectionForTheNextRequest) {
  HttpHarness http(handler_);
  LoopbackClient client(http.port());
  for (int i = 0; i < 3; ++i) {
    client.Send(RequestText("POST", "/a", "x" + std::to_string(i)));
    const ClientResponse response = client.ReadResponse();
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "POST/a[x" + std::to_string(i) + "]");
    EXPECT_FALSE(response.headers.contains("connection"));
    EXPECT_TRUE(response.headers.contains("date"));
  }
}

TEST_F(HttpSessionTest, AnswersPipelinedRequestsInOrder) {
  HttpHarness http(handler_);
  LoopbackClient client(http.port());
  std::string all;
  for (int i = 0; i < 20; ++i) all += RequestText("POST", "/p", std::to_string(i));
  client.Send(all);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(client.ReadResponse().body, "POST/p[" + std::to_string(i) + "]");
  }
}

TEST_F(HttpSessionTest, TakesARequestByteByByte) {
  HttpHarness http(handler_);
  LoopbackClient client(http.port());
  for (const char c : RequestText("POST", "/slow", "body")) client.Send(std::string(1, c));
  EXPECT_EQ(client.ReadResponse().body, "POST/slow[body]");
}

TEST_F(HttpSessionTest, TakesAChunkedBody) {
  HttpHarness http(handler_);
  LoopbackClient client(http.port());
  client.Send(
      "POST /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_EQ(client.ReadResponse().body, "POST/c[abcde]");
}

TEST_F(HttpSessionTest, RequestsThatCameDuringAnAnswerWaitForTheirTurn) {
  HttpHarness http(handler_);
  LoopbackClient client(http.port());
  client.Send(RequestText("GET", "/hold"));
  const auto work = handler_.AwaitHeld();
  client.Send(RequestText("POST", "/next", std::string(200'000, 'n')).substr(0, 100'000));
  handler_.Act([](HttpResponder& to) { to.Respond({.body = "held"}); });
  EXPECT_EQ(client.ReadResponse().body, "held");
  client.Send(
      std::string_view(RequestText("POST", "/next", std::string(200'000, 'n'))).substr(100'000));
  EXPECT_EQ(client.ReadResponse().body.size(), 200'000 + std::string("POST/next[]").size());
}

TEST_F(HttpSessionTest, ClosesAfterHttp10UnlessAskedToKeep) {
  HttpHarness http(handler_);
  LoopbackClient client(http.port());
  client.Send("GET /k HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(client.ReadResponse().headers["connection"], "keep-alive");
  client.Send("GET /old HTTP/1.0\r\n\r\n");
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.headers.at("connection"), "close");
  EXPECT_EQ(response.body, "GET/old[]");
  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST_F(HttpSessionTest, HeadGetsTheHeadersOfTheBodyItDoesNotGet) {
  HttpHarness http(handler_);
  LoopbackClient client(http.port());
  client.Send(RequestText("HEAD", "/h") + RequestText("GET", "/after"));
  EXPECT_EQ(client.ReadHead().headers["content-length"], std::to_string(sizeof("HEAD/h[]") - 1));
  EXPECT_EQ(client.ReadResponse().body, "GET/after[]");
}

TEST_F(HttpSessionTest, InvitesABodyThatWaitsToBeInvited) {
  HttpHarness http(handler_);
  LoopbackClient client(http.port());
  const std::string request = RequestText("POST", "/e", "late", "Expect: 100-continue\r\n");
  client.Send(std::string_view(request).substr(0, request.size() - 4));
  EXPECT_EQ(client.ReadThrough("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("late");
  EXPECT_EQ(client.ReadResponse().body, "POST/e[late]");
}

TEST_F(HttpSessionTest, DoesNotInviteABodyThatIsRefusedByItsHeader) {
  HttpHarness http(handler_);
  LoopbackClient client(http.port());
  client.Send("POST /no HTTP/1.1\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.status, 404);
  EXPECT_EQ(response.headers.at("connection"), "close");
  EXPECT_EQ(client.ReadToEnd(), "");
}

TEST_F(HttpSessionTest, RefusesALargeBodyByItsContentLengthAlone) {
  HttpHarness http(handler_, {.body_bytes = 1000});
  LoopbackClient client(http.port());
  client.Send("POST / HTTP/1.1\r\nContent-Length: 67108864\r\n\r\n");
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.body, "the body has 67108864 bytes; at most 1000 bytes are taken");
  EXPECT_EQ(response.headers.at("connection"), "close");
}

TEST_F(HttpSessionTest, AClientThatSendsItsLargeBodyAllTheSameStillGetsTheAnswer) {
  HttpHarness http(handler_, {.body_bytes = 1000});
  LoopbackClient client(http.port());
  client.Send(RequestText("POST", "/", std::string(4 << 20, 'x')));
  EXPECT_EQ(client.ReadResponse().status, 413);
}

TEST_F(HttpSessionTest, RefusesAChunkedBodyOnceItIsTooLarge) {
  HttpHarness http(handler_, {.body_bytes = 1000});
  LoopbackClient client(http.port());
  client.Send("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n" +
              std::string(1024, 'x') + "\r\n");
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.body, "the body is too large; at most 1000 bytes are taken");
}

TEST_F(HttpSessionTest, RefusesHeadersThatAreTooLarge) {
  HttpHarness http(handler_, {.header_bytes = 2000});
  LoopbackClient client(http.port());
  client.Send("GET / HTTP/1.1\r\nX: " + std::string(3000, 'x'));
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.status, 431);
  EXPECT_THAT(response.body, HasSubstr("at most 2000 bytes"));
}

TEST_F(HttpSessionTest, SaysWhatItDoesNotUnderstand) {
  const std::pair<const char*, int> cases[] = {
      {"nonsense\r\n\r\n", 400},
      {"GET / HTTP/2.5\r\n\r\n", 400},
      {"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"POST / HTTP/1.1\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n", 415},
      {"POST / HTTP/1.1\r\nExpect: miracles\r\nContent-Length: 3\r\n\r\n", 417},
  };
  HttpHarness http(handler_);
  for (const auto& [request, status] : cases) {
    LoopbackClient client(http.port());
    client.Send(request);
    const ClientResponse response = client.ReadResponse();
    EXPECT_EQ(response.status, status) << request;
    EXPECT_EQ(response.headers.at("connection"), "close") << request;
    EXPECT_FALSE(response.body.empty()) << request;
  }
}

TEST_F(HttpSessionTest, ASlowHeaderIsAnsweredWith408) {
  HttpHarness http(handler_, {.header = milliseconds(20)});
  LoopbackClient client(http.port());
  client.Send("GET / HTTP/1.1\r\nX-Slow: ");
  EXPECT_EQ(client.ReadResponse().status, 408);
}

TEST_F(HttpSessionTest, ASlowBodyIsAnsweredWith408) {
  HttpHarness http(handler_, {.body = milliseconds(20)});
  LoopbackClient client(http.port());
  client.Send("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nhalf");
  EXPECT_EQ(client.ReadResponse().status, 408);
}

TEST_F(HttpSessionTest, AnIdleConnectionIsClosed) {
  HttpHarness http(handler_, {.idle = milliseconds(20)});
  LoopbackClient client(http.port());
  client.Send(RequestText("GET", "/once"));
  EXPECT_EQ(client.ReadResponse().status, 200);
  EXPECT_EQ(client.ReadToEnd(), "");
  EXPECT_TRUE(http.server().WaitUntilEmpty(std::nullopt));
}

TEST_F(HttpSessionTest, StreamsPiecesAsChunks) {
  HttpHarness http(handler_);
  LoopbackClient client(http.port());
  client.Send(RequestText("GET", "/hold"));
  const auto work = handler_.AwaitHeld();
  handler_.Act([](HttpResponder& to) { to.BeginStream({.body = "one"}); });
  EXPECT_EQ(client.ReadHead().headers["transfer-encoding"], "chunked");
  EXPECT_EQ(client.ReadChunk(), "one");
  work->AwaitWritten(1);
  handler_.Act([](HttpResponder& to) {
    to.Write("two");
    to.EndStream();
  });
  EXPECT_EQ(client.ReadChunk(), "two");
  EXPECT_EQ(client.ReadChunk(), "");
  client.Send(RequestText("GET", "/after"));
  EXPECT_EQ(client.ReadResponse().body, "GET/after[]");
}

TEST_F(HttpSessionTest, StreamsToHttp10UpToTheConnectionsEnd) {
  HttpHarness http(handler_);
  LoopbackClient client(http.port());
  client.Send("GET /hold HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const auto work = handler_.AwaitHeld();
  handler_.Act([](HttpResponder& to) {
    to.BeginStream({.body = "one"});
    to.EndStream();
  });
  const ClientResponse response = client.ReadResponse();
  EXPECT_EQ(response.headers.at("connection"), "close");
  EXPECT_EQ(response.body, "one");
}

TEST_F(HttpSessionTest, TellsWorkAtOnceThatItsClientIsGone) {
  HttpHarness http(handler_);
  LoopbackClient waiting(http.port());
  waiting.Send(RequestText("GET", "/hold"));
  auto work = handler_.AwaitHeld();
  waiting.Close();
  work->AwaitDisconnect();
  LoopbackClient streaming(http.port());
  streaming.Send(RequestText("GET", "/hold"));
  work = handler_.AwaitHeld();
  handler_.Act([](HttpResponder& to) { to.BeginStream({.body = "one"}); });
  streaming.ReadHead();
  streaming.Close();
  work->AwaitDisconnect();
}

TEST_F(HttpSessionTest, AClientThatTakesNothingIsCutOff) {
  HttpHarness http(handler_, {.write_stall = milliseconds(50)});
  LoopbackClient client(http.port());
  client.Send(RequestText("GET", "/hold"));
  const auto work = handler_.AwaitHeld();
  handler_.Act([](HttpResponder& to) { to.BeginStream({.body = std::string(64 << 20, 'x')}); });
  work->AwaitDisconnect();
}

TEST_F(HttpSessionTest, ASlowReaderHoldsUpNobodyElse) {
  HttpHarness http(handler_);
  LoopbackClient slow(http.port());
  slow.Send(RequestText("GET", "/hold"));
  const auto work = handler_.AwaitHeld();
  handler_.Act([](HttpResponder& to) { to.BeginStream({.body = std::string(64 << 20, 'x')}); });
  LoopbackClient quick(http.port());
  quick.Send(RequestText("GET", "/quick"));
  EXPECT_EQ(quick.ReadResponse().body, "GET/quick[]");
  slow.ReadHead();
  EXPECT_EQ(slow.ReadChunk().size(), 64u << 20);
  work->AwaitWritten(1);
}

TEST_F(HttpSessionTest, RandomBytesNeverHarmTheNextClient) {
  HttpHarness http(handler_, {.header = milliseconds(200), .linger = milliseconds(50)});
  std::mt19937 random(7);
  const std::string valid = RequestText("POST", "/v", "body");
  for (int round = 0; round < 300; ++round) {
    LoopbackClient client(http.port());
    std::string bytes = round % 2 == 0 ? valid : std::string(random() % 400, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (round % 2 == 1 || random() % 16 == 0) bytes[i] = static_cast<char>(random());
    }
    client.Send(bytes);
    client.EndSending();
    client.ReadToEnd();
  }
  LoopbackClient client(http.port());
  client.Send(RequestText("GET", "/well"));
  EXPECT_EQ(client.ReadResponse().body, "GET/well[]");
}

}  // namespace
}  // namespace affine
