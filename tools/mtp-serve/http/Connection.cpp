//===- Connection.cpp - One client's requests -----------------------------===//

#include "tools/mtp-serve/http/Connection.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-serve/api/Sse.h"
#include "tools/mtp-serve/http/ReplyHeader.h"
#include "tools/mtp-serve/http/Target.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <cstdio>
#include <poll.h>

using namespace mtp;
using namespace mtp::serve;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::awaitable;
using asio::redirect_error;
using asio::use_awaitable;
using boost::system::error_code;
using namespace asio::experimental::awaitable_operators;
using Seconds = std::chrono::seconds;

/// Room in the buffer besides a header: the part of a body that arrives with
/// it.
static constexpr size_t kReadAhead = 64 << 10;
/// Bytes to read from a connection that has sent nothing.
static constexpr size_t kFirstRead = 1 << 10;
/// The largest body of a request that needs none.
static constexpr size_t kUselessBody = 1 << 10;

Connection::Connection(asio::ip::tcp::socket socket, Dispatcher &dispatcher,
                       Routes &routes, const ServerOptions &options)
    : tcp(std::move(socket)), buffer(options.limits.headerBytes + kReadAhead),
      news(tcp.get_executor()),
      guard(tcp.socket(), Seconds(options.limits.writeSeconds)),
      dispatcher(dispatcher), routes(routes), options(options) {
  error_code error;
  auto end = tcp.socket().remote_endpoint(error);
  if (!error)
    peer = end.address().to_string();
  // Events must leave at once.
  tcp.socket().set_option(asio::ip::tcp::no_delay(true), error);
  // The kernel holds up to this number of bytes that a client has not read.
  int kept = int(std::min<uint32_t>(options.limits.kernelBytes, 1 << 30));
  tcp.socket().set_option(asio::socket_base::send_buffer_size(kept), error);
}

void Connection::retire() {
  retires = true;
  if (isIdle)
    close();
}

void Connection::close() {
  error_code error;
  tcp.socket().close(error);
}

awaitable<void> Connection::run() {
  try {
    while (co_await serveOne()) {
    }
    // A reply is lost if bytes stay unread.
    error_code error;
    if (buffer.size() > 0 || tcp.socket().available(error) > 0)
      co_await linger();
    // NOLINTNEXTLINE(bugprone-empty-catch)
  } catch (const std::exception &) {
    // The client is gone, or was too slow.
  }
  close();
}

/// Returns whether the end of the body, and so the begin of the next request,
/// is unambiguous (RFC 9112, 6.3).
template <typename Header>
static bool hasCertainLength(const Header &header) {
  auto [begin, end] = header.equal_range(http::field::transfer_encoding);
  if (begin == end)
    return true;
  return std::next(begin) == end && header.version() >= 11 &&
         beast::iequals(begin->value(), "chunked") &&
         header.count(http::field::content_length) == 0;
}

static ApiError uncertainLength() {
  ApiError error;
  error.message = "expected 'Transfer-Encoding: chunked' of HTTP/1.1 or "
                  "'Content-Length', got another length of the body";
  return error;
}

awaitable<bool> Connection::serveOne() {
  Parser parser;
  parser.header_limit(options.limits.headerBytes);
  parser.body_limit(options.limits.bodyBytes);
  if (error_code error = co_await readHeader(parser)) {
    if (MaybeError answer = errorOf(error)) {
      Exchange exchange;
      exchange.line = "-";
      exchange.request.id = dispatcher.makeId();
      exchange.began = Clock::now();
      co_await refuse(exchange, Routes::replyOf(*answer));
    }
    co_return false;
  }
  Exchange exchange = exchangeOf(parser);
  std::optional<HttpReply> refusal;
  bool isCertain = hasCertainLength(parser.get());
  if (!isCertain)
    refusal = Routes::replyOf(uncertainLength());
  else
    refusal = routes.answerHeader(exchange.request);
  if (!refusal) {
    if (MaybeError error = co_await readBody(parser, exchange.request))
      refusal = Routes::replyOf(*error);
    else if (!parser.is_done())
      co_return false;
  }
  if (refusal && (!isCertain || !parser.is_done())) {
    co_await refuse(exchange, std::move(*refusal));
    co_return false;
  }
  exchange.began = Clock::now();
  if (refusal) {
    co_await reply(exchange, *refusal);
    log(exchange, nullptr);
  } else {
    co_await answer(exchange);
  }
  co_return exchange.keepsAlive && !retires;
}

awaitable<error_code> Connection::readHeader(Parser &parser) {
  const Limits &limits = options.limits;
  error_code error;
  // Pipelined bytes are there already.
  if (buffer.size() == 0) {
    // Many connections may be idle.
    if (buffer.capacity() > kFirstRead)
      buffer.shrink_to_fit();
    isIdle = true;
    tcp.expires_after(Seconds(limits.idleSeconds));
    size_t count = co_await tcp.async_read_some(
        buffer.prepare(kFirstRead), redirect_error(use_awaitable, error));
    buffer.commit(count);
    isIdle = false;
  }
  if (error)
    co_return error;
  tcp.expires_after(Seconds(limits.headerSeconds));
  co_await http::async_read_header(tcp, buffer, parser,
                                   redirect_error(use_awaitable, error));
  tcp.expires_never();
  co_return error;
}

awaitable<MaybeError> Connection::readBody(Parser &parser,
                                           HttpRequest &request) {
  const std::string &body = parser.get().body();
  uint64_t said = parser.content_length().value_or(0);
  uint64_t most =
      request.method == "POST" ? options.limits.bodyBytes : kUselessBody;
  if (said > most)
    co_return errorOf(http::error::body_limit);
  if (MaybeError full =
          request.share.grow(dispatcher.bodies(), request.client, said))
    co_return full;
  error_code error;
  tcp.expires_after(Seconds(options.limits.bodySeconds));
  if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
    http::response<http::empty_body> go(http::status::continue_,
                                        parser.get().version());
    co_await http::async_write(tcp, go, redirect_error(use_awaitable, error));
  }
  while (!error && !parser.is_done()) {
    co_await http::async_read_some(tcp, buffer, parser,
                                   redirect_error(use_awaitable, error));
    if (body.size() > most)
      error = http::error::body_limit;
    // A chunked body does not state its size in advance.
    if (MaybeError full = request.share.grow(dispatcher.bodies(),
                                             request.client, body.size()))
      co_return full;
  }
  tcp.expires_never();
  if (error)
    co_return errorOf(error);
  request.body = std::move(parser.get().body());
  co_return std::nullopt;
}

MaybeError Connection::errorOf(error_code error) const {
  ApiError answer;
  if (error == http::error::body_limit) {
    answer.status = 413;
    answer.message = "expected a body of at most " +
                     std::to_string(options.limits.bodyBytes) + " bytes";
  } else if (error == http::error::header_limit ||
             error == http::error::buffer_overflow) {
    answer.status = 431;
    answer.message = "expected a header of at most " +
                     std::to_string(options.limits.headerBytes) + " bytes";
  } else if (error == http::error::end_of_stream ||
             error == http::error::partial_message ||
             error.category() !=
                 http::make_error_code(http::error::bad_method).category()) {
    return std::nullopt;
  } else {
    answer.message = "expected a request of HTTP/1.1, got another thing (" +
                     error.message() + ")";
  }
  return answer;
}

awaitable<void> Connection::refuse(Exchange &exchange, HttpReply refusal) {
  // The reader drops the rest of the body.
  exchange.request.share.release();
  exchange.keepsAlive = false;
  exchange.began = Clock::now();
  co_await reply(exchange, refusal);
  log(exchange, nullptr);
  co_await linger();
}

awaitable<void> Connection::answer(Exchange &exchange) {
  RouteAnswer answer = routes.answer(exchange.request);
  // The body has been parsed and is not needed any more.
  exchange.request.body = {};
  exchange.request.share.release();
  exchange.ignored = listOf(answer.reply.ignored);
  if (answer.generation) {
    co_await generate(exchange, answer.generation);
  } else if (answer.text) {
    co_await answerText(exchange, answer.text);
  } else {
    co_await reply(exchange, answer.reply);
    log(exchange, nullptr);
  }
}

awaitable<void> Connection::linger() {
  error_code error;
  tcp.socket().shutdown(asio::ip::tcp::socket::shutdown_send, error);
  tcp.expires_after(Seconds(2));
  buffer.clear();
  buffer.shrink_to_fit();
  std::vector<char> dropped(1 << 14);
  for (uint64_t left = options.limits.bodyBytes; !error && left > 0;) {
    size_t count = co_await tcp.async_read_some(
        asio::buffer(dropped), redirect_error(use_awaitable, error));
    left -= std::min<uint64_t>(left, count);
  }
}

Connection::Exchange Connection::exchangeOf(const Parser &parser) {
  // Only the header is here; trailer fields after a body are not part of it.
  const auto &header = parser.get();
  auto field = [&](http::field name) { return std::string(header[name]); };
  Exchange exchange;
  HttpRequest &plain = exchange.request;
  plain.method = std::string(header.method_string());
  std::string target(header.target());
  plain.path = pathOf(target);
  if (size_t mark = target.find('?'); mark != target.npos)
    plain.query = target.substr(mark + 1);
  plain.contentType = field(http::field::content_type);
  plain.authorization = field(http::field::authorization);
  plain.apiKey = std::string(header["X-Api-Key"]);
  // Browsers add these to a page's requests. Origin is with each POST; old
  // browsers add at least a Referer.
  for (const char *mark : {"Origin", "Sec-Fetch-Site", "Referer", "Cookie"})
    plain.isFromPage |= header.count(mark) > 0;
  plain.id = std::string(header["X-Request-Id"]);
  if (!isRequestId(plain.id))
    plain.id = dispatcher.makeId();
  exchange.origin = field(http::field::origin);
  exchange.askedHeaders = field(http::field::access_control_request_headers);
  exchange.line = printable(plain.method + " " + target);
  exchange.version = header.version();
  exchange.isHead = plain.method == "HEAD";
  exchange.keepsAlive = header.keep_alive();
  return exchange;
}

/// Sets the status line and fields, except the fields for the body's length.
template <typename Response, typename Exchange>
static void setHeader(Response &response, const ServerOptions &options,
                      const Exchange &exchange) {
  response.set(http::field::server, "mtp-serve/" + options.version);
  response.set(http::field::cache_control, "no-store");
  response.set("X-Request-Id", exchange.request.id);
  if (!exchange.ignored.empty())
    response.set("X-Ignored-Fields", exchange.ignored);
  for (auto &[name, value] :
       originHeaders(options.origins, exchange.origin, exchange.askedHeaders))
    response.set(name, value);
}

awaitable<void> Connection::reply(Exchange &exchange, const HttpReply &reply) {
  exchange.status = reply.status;
  http::response<http::string_body> response(http::status(reply.status),
                                             exchange.version);
  setHeader(response, options, exchange);
  if (!reply.type.empty())
    response.set(http::field::content_type, reply.type);
  for (auto &[name, value] : reply.headers)
    response.set(name, value);
  exchange.keepsAlive &= !retires;
  response.keep_alive(exchange.keepsAlive);
  response.body() = reply.body;
  response.prepare_payload();
  GuardedWrite write(guard);
  if (exchange.isHead) {
    http::response_serializer<http::string_body> serializer(response);
    co_await http::async_write_header(tcp, serializer, use_awaitable);
  } else {
    co_await http::async_write(tcp, response, use_awaitable);
  }
}

namespace {
/// A client's wait for a generation; ending the wait aborts it.
class Reader {
public:
  Reader(Generation &generation, asio::steady_timer &news)
      : generation(generation) {
    generation.setListener([&news] { news.cancel(); });
  }
  ~Reader() {
    generation.setListener({});
    if (!generation.hasEnded())
      generation.abort();
  }

private:
  Generation &generation;
};
} // namespace

awaitable<void> Connection::answerText(Exchange &exchange,
                                       std::shared_ptr<TextJob> job) {
  if (MaybeError error = dispatcher.runLater(job)) {
    co_await reply(exchange, Routes::replyOf(*error));
  } else {
    job->listener = [this] { news.cancel(); };
    co_await (replyLater(exchange, *job) || watch());
    job->listener = {};
    // The client is gone.
    job->isDropped = true;
    exchange.keepsAlive &= job->isDone();
  }
  log(exchange, nullptr);
}

/// Waits for the worker's reply and sends it; catches exceptions like
/// produce().
awaitable<void> Connection::replyLater(Exchange &exchange, TextJob &job) {
  try {
    while (!job.isDone())
      co_await waitForNews();
    if (job.error)
      job.reply = Routes::replyOf(*job.error);
    exchange.ignored = listOf(job.reply->ignored);
    co_await reply(exchange, *job.reply);
  } catch (const std::exception &) {
    exchange.keepsAlive = false;
  }
}

double Connection::secondsFor(const Generation &generation) const {
  double asked = generation.asked().timeout;
  double most = options.limits.requestSeconds;
  return asked > 0 && most > 0 ? std::min(asked, most) : std::max(asked, most);
}

/// Returns the reply for a generation whose time is over.
static ApiError lateError(double seconds) {
  ApiError error;
  error.status = 504;
  error.code = "timeout";
  error.message = strCat("expected an answer within ", seconds,
                         " seconds ('timeout', --request-timeout), which are "
                         "over");
  return error;
}

awaitable<void> Connection::generate(Exchange &exchange,
                                     std::shared_ptr<Generation> generation) {
  {
    Reader reader(*generation, news);
    asio::steady_timer deadline(tcp.get_executor());
    if (double seconds = secondsFor(*generation)) {
      std::chrono::duration<double> time(seconds);
      deadline.expires_at(exchange.began +
                          std::chrono::duration_cast<Clock::duration>(time));
      deadline.async_wait([generation, seconds](error_code error) {
        if (!error && !generation->hasEnded())
          generation->fail(lateError(seconds));
      });
    }
    co_await (produce(exchange, *generation) || watch());
  }
  if (!generation->isFinished())
    exchange.keepsAlive = false;
  log(exchange, generation.get());
}

/// Produces the answer. Catches exceptions, so that the first of two coroutines
/// that wait for each other does end.
awaitable<void> Connection::produce(Exchange &exchange,
                                    Generation &generation) {
  try {
    while (!generation.hasStarted())
      co_await waitForNews();
    if (generation.streams() && !generation.error()) {
      co_await stream(exchange, generation);
      co_return;
    }
    while (!generation.hasEnded() && !generation.error())
      co_await waitForNews();
    if (generation.error()) {
      co_await reply(exchange, Routes::replyOf(*generation.error()));
      co_return;
    }
    HttpReply whole;
    whole.body = generation.answer();
    co_await reply(exchange, whole);
  } catch (const std::exception &) {
    exchange.keepsAlive = false;
  }
}

awaitable<void> Connection::stream(Exchange &exchange, Generation &generation) {
  // HTTP/1.0 has no chunks: the end of the connection ends the body.
  bool hasChunks = exchange.version >= 11;
  exchange.status = 200;
  exchange.keepsAlive &= hasChunks && !retires;
  http::response<http::empty_body> response(http::status::ok, exchange.version);
  setHeader(response, options, exchange);
  response.set(http::field::content_type, std::string(kEventStream));
  response.chunked(hasChunks);
  response.keep_alive(exchange.keepsAlive);
  http::response_serializer<http::empty_body> serializer(response);
  {
    GuardedWrite write(guard);
    co_await http::async_write_header(tcp, serializer, use_awaitable);
  }
  while (!generation.isFinished()) {
    while (!generation.hasNews())
      co_await waitForNews();
    std::string events = generation.takeEvents();
    if (events.empty())
      continue;
    GuardedWrite write(guard);
    if (hasChunks)
      co_await asio::async_write(tcp, http::make_chunk(asio::buffer(events)),
                                 use_awaitable);
    else
      co_await asio::async_write(tcp, asio::buffer(events), use_awaitable);
  }
  GuardedWrite write(guard);
  if (hasChunks)
    co_await asio::async_write(tcp, http::make_chunk_last(), use_awaitable);
}

awaitable<void> Connection::waitForNews() {
  error_code error;
  news.expires_at(asio::steady_timer::time_point::max());
  co_await news.async_wait(redirect_error(use_awaitable, error));
}

/// Returns whether the other side has closed, even if unread bytes remain.
static bool isGone(int descriptor) {
  struct pollfd state = {descriptor, POLLRDHUP, 0};
  if (descriptor < 0)
    return true;
  return ::poll(&state, 1, 0) > 0 && state.revents != 0;
}

awaitable<void> Connection::watch() {
  error_code error;
  co_await tcp.socket().async_wait(asio::ip::tcp::socket::wait_read,
                                   redirect_error(use_awaitable, error));
  asio::steady_timer pause(tcp.get_executor());
  // The next request has arrived already, so the socket does not signal the
  // client's end.
  while (!error &&
         !isGone(tcp.socket().is_open() ? tcp.socket().native_handle() : -1)) {
    pause.expires_after(std::chrono::milliseconds(500));
    co_await pause.async_wait(redirect_error(use_awaitable, error));
  }
}

void Connection::log(const Exchange &exchange,
                     const Generation *generation) const {
  if (!options.logsRequests)
    return;
  std::string notes;
  if (generation)
    notes = " prompt=" + std::to_string(generation->promptTokens()) +
            " output=" + std::to_string(generation->outputTokens()) +
            (generation->isFinished() ? "" : " unfinished");
  if (!exchange.ignored.empty())
    notes += " ignored=" + exchange.ignored;
  std::chrono::duration<double, std::milli> took =
      Clock::now() - exchange.began;
  std::fprintf(stderr, "%s %s \"%s\" %u%s %.1f ms\n", peer.c_str(),
               exchange.request.id.c_str(), exchange.line.c_str(),
               exchange.status, notes.c_str(), took.count());
}
