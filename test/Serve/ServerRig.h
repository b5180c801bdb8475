//===- ServerRig.h - A server and its clients over sockets ------*- C++ -*-===//

#ifndef MTP_TEST_SERVE_SERVERRIG_H
#define MTP_TEST_SERVE_SERVERRIG_H

#include "test/Runtime/support/FakeModel.h"
#include "tools/mtp-serve/http/Server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

namespace mtp::test {

/// A server with its own thread.
class Running {
public:
  using MakeSession = std::function<Result<std::unique_ptr<Session>>()>;
  explicit Running(std::unique_ptr<Session> session,
                   serve::ServerOptions options = {},
                   MakeSession fallback = {}) {
    facts.names = {"fake"};
    facts.vocab = 64;
    facts.maxContext = session->model()->envelope()->maxContext;
    facts.maxK = session->options().k;
    facts.slots = session->options().maxSlots;
    facts.hasLogitRules = session->model()->hasLogitRules();
    options.port = 0;
    options.logsRequests = false;
    server = *serve::Server::create(std::move(session), facts, options);
    if (fallback)
      server->setFallback(std::move(fallback));
    thread = std::thread([this] { status = server->run(); });
  }
  ~Running() { end().ignore(); }
  Status end() {
    server->stop();
    return await();
  }
  /// Waits until the server ends by itself.
  Status await() {
    if (thread.joinable())
      thread.join();
    return status;
  }

  serve::ModelFacts facts;
  std::unique_ptr<serve::Server> server;
  Status status;
  std::thread thread;
};

/// A client that sends and reads bytes.
class Client {
public:
  /// `buffer`: size of the kernel's receive buffer; 0: the default.
  explicit Client(const Running &running, int buffer = 0)
      : socket(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (buffer > 0)
      ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    struct sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_port = htons(running.server->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr *>(&address),
                        sizeof(address)),
              0);
  }
  ~Client() { ::close(socket); }
  void say(const std::string &text) {
    EXPECT_EQ(::send(socket, text.data(), text.size(), MSG_NOSIGNAL),
              ssize_t(text.size()));
  }
  /// Returns false if the server has closed the connection.
  bool trySay(const std::string &text) {
    return ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) ==
           ssize_t(text.size());
  }
  void complete(const std::string &body) {
    say("POST /v1/completions HTTP/1.1\r\nHost: x\r\n"
        "Content-Type: application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body);
  }
  /// Reads at most `most` bytes; returns an empty string at the end.
  std::string readSome(size_t most) {
    std::string text(most, '\0');
    text.resize(
        size_t(std::max<ssize_t>(::recv(socket, text.data(), most, 0), 0)));
    return text;
  }
  /// Reads until `end` has arrived, or to the end.
  std::string read(const std::string &end = "") {
    std::string text;
    char block[4096];
    while (end.empty() || text.find(end) == text.npos) {
      ssize_t count = ::recv(socket, block, sizeof(block), 0);
      if (count <= 0)
        break;
      text.append(block, size_t(count));
    }
    return text;
  }
  void closeOneSide() { ::shutdown(socket, SHUT_WR); }

private:
  int socket;
};

inline std::unique_ptr<Session> open(uint32_t context = 96) {
  FakeOptions options;
  options.maxContext = context;
  return openFake(options);
}

inline bool contains(const std::string &text, const char *part) {
  return text.find(part) != text.npos;
}

inline std::string metricsOf(const Running &running) {
  Client client(running);
  client.say("GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  return client.read();
}

/// Waits until the metrics contain a line.
inline bool awaitMetric(const Running &running, const char *line) {
  for (int turn = 0; turn < 3000; ++turn) {
    if (contains(metricsOf(running), line))
      return true;
    ::usleep(10000);
  }
  return false;
}

} // namespace mtp::test

#endif // MTP_TEST_SERVE_SERVERRIG_H
