//===- Server.cpp - Sockets for the routes --------------------------------===//

#include "tools/mtp-serve/http/Server.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-serve/http/Connection.h"

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <set>
#include <sys/resource.h>

using namespace mtp;
using namespace mtp::serve;
namespace asio = boost::asio;
using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;
using asio::ip::tcp;
using boost::system::error_code;

/// Seconds within which the replies that report a failure must be sent.
static constexpr uint32_t kFailureSeconds = 5;

struct Server::Impl {
  Impl(std::unique_ptr<Session> session, const ModelFacts &facts,
       ServerOptions given);

  Status listen();
  awaitable<void> accept();
  void begin(tcp::socket socket);
  /// Ends within `seconds`.
  void end(uint32_t seconds);
  /// Ends when nothing runs any more; only health requests are still answered.
  void endLate();
  void closeAll();
  void stopIfDone();
  void awaitSignals();

  ServerOptions options;
  asio::io_context context{1};
  tcp::acceptor acceptor;
  asio::signal_set signals;
  asio::steady_timer patience;
  std::set<std::shared_ptr<Connection>> connections;
  /// Connections that came after the server was told to end. Each gets one
  /// reply: 503 for /health and for requests that would start work.
  std::set<std::shared_ptr<Connection>> late;
  bool ends = false;
  Status failure;
  // After the context, to which its engine posts.
  Dispatcher dispatcher;
  Routes routes;
};

/// The room in a body: for ids, or for a text of a few bytes per token.
static constexpr uint64_t kLeastBody = 1 << 20, kBodyPerToken = 16;

static constexpr uint64_t kLeastBodies = 64 << 20, kBodies = 16;

static ServerOptions settled(ServerOptions options, const ModelFacts &facts) {
  if (options.limits.bodyBytes == 0)
    options.limits.bodyBytes = kLeastBody + kBodyPerToken * facts.maxContext;
  if (options.limits.bodiesBytes == 0)
    options.limits.bodiesBytes =
        std::max(kLeastBodies, kBodies * options.limits.bodyBytes);
  options.limits.keyCount = options.keys.size();
  return options;
}

Server::Impl::Impl(std::unique_ptr<Session> session, const ModelFacts &facts,
                   ServerOptions given)
    : options(settled(std::move(given), facts)), acceptor(context),
      signals(context), patience(context),
      dispatcher(std::move(session), facts, options.limits,
                 [this](std::function<void()> call) {
                   asio::post(context, std::move(call));
                 }),
      routes(dispatcher, options) {}

Status Server::Impl::listen() {
  error_code error;
  tcp::resolver resolver(context);
  auto found = resolver.resolve(options.host, std::to_string(options.port),
                                tcp::resolver::passive, error);
  if (error || found.empty())
    return invalidArgument(strCat("expected --host to be an address of this "
                                  "machine, got '",
                                  options.host, "': ", error.message()));
  tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor.open(endpoint.protocol(), error);
  // Take a port whose last connections are still closing, but not one that
  // another process listens on.
  if (!error)
    acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error)
    acceptor.bind(endpoint, error);
  if (!error)
    acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error)
    return unavailable(strCat("cannot listen on ", options.host, ":",
                              options.port,
                              " (--host, --port): ", error.message()));
  return okStatus();
}

awaitable<void> Server::Impl::accept() {
  asio::steady_timer pause(context);
  while (acceptor.is_open()) {
    error_code error;
    tcp::socket socket =
        co_await acceptor.async_accept(redirect_error(use_awaitable, error));
    if (!error &&
        connections.size() + late.size() < options.limits.connections) {
      begin(std::move(socket));
    } else if (error && acceptor.is_open()) {
      // No descriptor is free at the moment.
      pause.expires_after(std::chrono::milliseconds(50));
      co_await pause.async_wait(redirect_error(use_awaitable, error));
    }
  }
}

void Server::Impl::begin(tcp::socket socket) {
  auto connection = std::make_shared<Connection>(std::move(socket), dispatcher,
                                                 routes, options);
  if (ends)
    connection->retireBehindAnswer();
  (ends ? late : connections).insert(connection);
  asio::co_spawn(context, connection->run(),
                 [this, connection](const std::exception_ptr &) {
                   connections.erase(connection);
                   late.erase(connection);
                   stopIfDone();
                 });
}

void Server::Impl::stopIfDone() {
  if (!ends || !connections.empty())
    return;
  if (late.empty())
    context.stop();
  else
    endLate();
}

void Server::Impl::endLate() {
  if (!acceptor.is_open())
    return;
  error_code error;
  acceptor.close(error);
  for (const auto &connection : late)
    connection->retire();
  patience.expires_after(std::chrono::seconds(1));
  patience.async_wait([this](error_code error) {
    if (!error)
      closeAll();
  });
}

void Server::Impl::end(uint32_t seconds) {
  if (ends)
    return;
  ends = true;
  dispatcher.refuse();
  for (const auto &connection : connections)
    connection->retire();
  patience.expires_after(std::chrono::seconds(seconds));
  patience.async_wait([this](error_code error) {
    if (error)
      return;
    // Clients that still read learn that they were cancelled.
    dispatcher.abortAll();
    patience.expires_after(std::chrono::seconds(2));
    patience.async_wait([this](error_code) { closeAll(); });
  });
  stopIfDone();
}

void Server::Impl::closeAll() {
  error_code error;
  acceptor.close(error);
  for (const auto *set : {&connections, &late})
    for (const auto &connection : *set)
      connection->close();
}

void Server::Impl::awaitSignals() {
  signals.async_wait([this](error_code error, int) {
    if (error)
      return;
    // The second signal does not wait.
    if (ends) {
      dispatcher.abortAll();
      return closeAll();
    }
    end(options.limits.shutdownSeconds);
    awaitSignals();
  });
}

Server::Server(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Server::~Server() = default;

Result<std::unique_ptr<Server>> Server::create(std::unique_ptr<Session> session,
                                               const ModelFacts &facts,
                                               ServerOptions options) {
  try {
    auto impl =
        std::make_unique<Impl>(std::move(session), facts, std::move(options));
    MTP_RETURN_IF_ERROR(impl->listen());
    return std::unique_ptr<Server>(new Server(std::move(impl)));
  } catch (const std::exception &error) {
    return internalError(strCat("cannot start the server: ", error.what()));
  }
}

uint16_t Server::port() const {
  error_code error;
  return impl->acceptor.local_endpoint(error).port();
}

/// Raises the limit of descriptors, since each connection takes one.
static void raiseDescriptors() {
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

void Server::setFallback(
    std::function<Result<std::unique_ptr<Session>>()> make) {
  impl->dispatcher.setFallback(std::move(make));
}

Status Server::run() {
  try {
    raiseDescriptors();
    impl->dispatcher.setFailureListener([this](Status status) {
      impl->failure = std::move(status);
      impl->end(impl->dispatcher.isRetrying()
                    ? impl->options.limits.shutdownSeconds
                    : kFailureSeconds);
    });
    if (impl->options.takesSignals) {
      impl->signals.add(SIGINT);
      impl->signals.add(SIGTERM);
      impl->awaitSignals();
    }
    asio::co_spawn(impl->context, impl->accept(),
                   [](const std::exception_ptr &) {});
    impl->context.run();
  } catch (const std::exception &error) {
    return internalError(strCat("the server failed: ", error.what()));
  }
  return impl->failure;
}

void Server::stop() {
  asio::post(impl->context,
             [this] { impl->end(impl->options.limits.shutdownSeconds); });
}
