//===- Connection.h - One client's requests ---------------------*- C++ -*-===//

#ifndef MTP_TOOLS_MTP_SERVE_HTTP_CONNECTION_H
#define MTP_TOOLS_MTP_SERVE_HTTP_CONNECTION_H

#include "tools/mtp-serve/http/Routes.h"
#include "tools/mtp-serve/http/WriteTimeout.h"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

namespace mtp::serve {

/// Reads requests from a socket, one after the other, and writes the replies. A
/// client that closes its side is gone, and its requests are cancelled.
class Connection {
public:
  Connection(boost::asio::ip::tcp::socket socket, Dispatcher &dispatcher,
             Routes &routes, const ServerOptions &options);

  /// Runs until the connection ends. Throws nothing.
  boost::asio::awaitable<void> run();

  /// Ends the connection now if it has no request, else after the answer.
  void retire();
  /// Ends the connection after the answer to its first request.
  void retireBehindAnswer() { retires = true; }
  /// Ends the connection now, even during a request.
  void close();

private:
  using Parser =
      boost::beast::http::request_parser<boost::beast::http::string_body>;

  /// Values for the header of every reply to a request.
  struct Exchange {
    HttpRequest request;
    std::string origin;
    std::string askedHeaders;
    std::string line;
    /// The unknown fields of the body.
    std::string ignored;
    unsigned version = 11;
    bool isHead = false;
    bool keepsAlive = false;
    unsigned status = 0;
    Clock::time_point began;
  };

  /// Serves one request. Returns false if the connection ends.
  boost::asio::awaitable<bool> serveOne();
  boost::asio::awaitable<boost::system::error_code> readHeader(Parser &parser);
  /// Reads the body of a request. Returns nothing on success, else the error to
  /// reply, or nothing if the client is gone.
  boost::asio::awaitable<MaybeError> readBody(Parser &parser,
                                              HttpRequest &request);
  /// Answers a request that was not read completely, and ends the connection.
  boost::asio::awaitable<void> refuse(Exchange &exchange, HttpReply reply);
  /// Returns the error to reply after a failed read; nothing if the client is
  /// gone.
  MaybeError errorOf(boost::system::error_code error) const;
  Exchange exchangeOf(const Parser &parser);
  boost::asio::awaitable<void> answer(Exchange &exchange);
  /// Returns the seconds that a generation may take; zero: no limit.
  double secondsFor(const Generation &generation) const;

  boost::asio::awaitable<void> reply(Exchange &exchange,
                                     const HttpReply &reply);
  /// Sends the reply that the worker makes.
  boost::asio::awaitable<void> answerText(Exchange &exchange,
                                          std::shared_ptr<TextJob> job);
  boost::asio::awaitable<void> replyLater(Exchange &exchange, TextJob &job);
  boost::asio::awaitable<void> generate(Exchange &exchange,
                                        std::shared_ptr<Generation> generation);
  boost::asio::awaitable<void> produce(Exchange &exchange,
                                       Generation &generation);
  boost::asio::awaitable<void> stream(Exchange &exchange,
                                      Generation &generation);
  /// Ends when the client is gone.
  boost::asio::awaitable<void> watch();
  boost::asio::awaitable<void> waitForNews();
  /// Lets the client read the reply before the connection ends.
  boost::asio::awaitable<void> linger();
  void log(const Exchange &exchange, const Generation *generation) const;

  boost::beast::tcp_stream tcp;
  boost::beast::flat_buffer buffer;
  boost::asio::steady_timer news;
  WriteTimeout guard;
  Dispatcher &dispatcher;
  Routes &routes;
  const ServerOptions &options;
  std::string peer;
  bool isIdle = true;
  bool retires = false;
};

} // namespace mtp::serve

#endif // MTP_TOOLS_MTP_SERVE_HTTP_CONNECTION_H
