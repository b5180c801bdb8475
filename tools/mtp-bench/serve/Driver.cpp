//===- Driver.cpp - Send requests and time the answers --------------------===//
//
// One epoll instance serves all connections and a timer for the next due
// action. A closed loop has a connection per client; an open loop adds a
// connection whenever all are in use.
//
//===----------------------------------------------------------------------===//

#include "tools/mtp-bench/serve/Driver.h"
#include "runtime/core/StrCat.h"
#include "tools/mtp-bench/serve/EventReader.h"
#include "tools/mtp-bench/serve/HttpReader.h"
#include "tools/mtp-bench/serve/Socket.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <memory>
#include <optional>
#include <sys/epoll.h>
#include <sys/timerfd.h>

using namespace mtp;
using namespace mtp::bench;

namespace {

double secondsOf(clockid_t clock) {
  timespec time;
  ::clock_gettime(clock, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// A connection and its current request.
struct Client {
  Descriptor socket;
  bool isConnecting = false;
  /// The connection has served a request before, so the server may have closed
  /// it while this request was on its way.
  bool isReused = false;
  bool isBusy = false;
  std::string request;
  size_t sent = 0;
  HttpReader http;
  EventReader events;
  size_t record = 0;
  size_t outputs = 0;
  uint64_t ids = 0;
  bool hasUsage = false;
  bool hasEnd = false;
  double lastByte = 0;
};

class Driver {
public:
  Driver(const TrafficOptions &options, Url url, const Address &address)
      : options(options), url(std::move(url)), address(address), plan(options),
        epoll(::epoll_create1(EPOLL_CLOEXEC)),
        timer(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)) {}

  Result<LoadResult> run();

private:
  double now() const { return secondsOf(CLOCK_MONOTONIC) - origin; }
  bool isOpenLoop() const { return options.rate > 0; }

  Status prepare();
  /// Sends due requests. The timer fires for the next ones.
  void startDue();
  void setTimer();
  void start(Client &client, double due);
  /// Sends the request of `client` from its beginning, on the existing
  /// connection or a new one.
  void send(Client &client);
  Client &freeClient();
  bool connect(Client &client);

  void handle(Client &client, uint32_t events);
  void write(Client &client);
  void read(Client &client);
  void takeBody(Client &client, std::string_view body);
  void takeEvent(Client &client, const StreamEvent &event);
  /// Handles the end of a connection that the server closed.
  void takeEnd(Client &client);
  void watch(Client &client, int operation, uint32_t events);
  void fail(Client &client, std::string error);
  void finish(Client &client);
  void release(Client &client);
  void failLate();

  const TrafficOptions &options;
  Url url;
  Address address;
  LoadPlan plan;
  Descriptor epoll;
  Descriptor timer;
  double origin = 0;
  double nextCheck = 0;
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<Client *> idle;
  LoadResult result;
  size_t started = 0;
  size_t ended = 0;
  std::vector<char> buffer = std::vector<char>(64 << 10);
};

Status Driver::prepare() {
  if (!epoll.isOpen() || !timer.isOpen())
    return resourceExhausted(
        strCat("cannot wait for sockets: ", std::strerror(errno)));
  epoll_event event = {};
  event.events = EPOLLIN;
  if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, timer.get(), &event) != 0)
    return internalError(strCat("cannot wait: ", std::strerror(errno)));
  raiseDescriptorLimit();
  result.records.resize(options.requests);
  if (!isOpenLoop())
    for (uint32_t i = 0; i < options.clients; ++i)
      idle.push_back(clients.emplace_back(std::make_unique<Client>()).get());
  return okStatus();
}

Result<LoadResult> Driver::run() {
  MTP_RETURN_IF_ERROR(prepare());
  origin = secondsOf(CLOCK_MONOTONIC);
  double cpu = secondsOf(CLOCK_PROCESS_CPUTIME_ID);
  std::vector<epoll_event> events(256);
  for (startDue(); ended < options.requests; startDue()) {
    setTimer();
    int count =
        ::epoll_wait(epoll.get(), events.data(), int(events.size()), -1);
    if (count < 0 && errno != EINTR)
      return internalError(strCat("cannot wait: ", std::strerror(errno)));
    for (int i = 0; i < count; ++i)
      if (auto *client = static_cast<Client *>(events[size_t(i)].data.ptr))
        handle(*client, events[size_t(i)].events);
    failLate();
  }
  result.seconds = now();
  result.cpuSeconds = secondsOf(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  return std::move(result);
}

void Driver::startDue() {
  if (!isOpenLoop()) {
    // A request that fails at once frees its client, so the number of requests
    // bounds this loop.
    while (!idle.empty() && started < options.requests)
      start(freeClient(), now());
    return;
  }
  while (started < options.requests) {
    double due = plan.arrival(uint32_t(started));
    if (due > now())
      return;
    start(freeClient(), due);
  }
}

void Driver::setTimer() {
  // Late requests are checked once a second.
  double next = now() + 1;
  if (isOpenLoop() && started < options.requests)
    next = std::min(next, plan.arrival(uint32_t(started)));
  double whole = std::floor(next + origin);
  itimerspec at = {};
  at.it_value.tv_sec = time_t(whole);
  at.it_value.tv_nsec = long((next + origin - whole) * 1e9);
  ::timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &at, nullptr);
}

Client &Driver::freeClient() {
  if (idle.empty())
    return *clients.emplace_back(std::make_unique<Client>());
  Client *client = idle.back();
  idle.pop_back();
  return *client;
}

void Driver::start(Client &client, double due) {
  client.record = started++;
  result.records[client.record].due = due;
  std::string body = plan.body(uint32_t(client.record));
  client.request = strCat(
      "POST ", url.prefix, "/v1/completions HTTP/1.1\r\nHost: ", url.host, ":",
      url.port, "\r\nContent-Type: application/json\r\n",
      "Accept: text/event-stream\r\nContent-Length: ", body.size(), "\r\n");
  if (!options.key.empty())
    client.request += strCat("Authorization: Bearer ", options.key, "\r\n");
  client.request += "\r\n" + body;
  client.isBusy = true;
  send(client);
}

void Driver::send(Client &client) {
  client.sent = 0;
  client.http = HttpReader();
  client.events = EventReader();
  client.outputs = client.ids = 0;
  client.hasUsage = client.hasEnd = false;
  client.lastByte = now();
  client.isReused = client.socket.isOpen();
  if (client.isReused || connect(client))
    write(client);
}

bool Driver::connect(Client &client) {
  Result<Descriptor> socket = beginConnection(address);
  if (!socket) {
    fail(client, std::string(socket.status().message()));
    return false;
  }
  client.socket = std::move(*socket);
  client.isConnecting = true;
  watch(client, EPOLL_CTL_ADD, EPOLLIN | EPOLLOUT);
  return true;
}

void Driver::watch(Client &client, int operation, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.ptr = &client;
  ::epoll_ctl(epoll.get(), operation, client.socket.get(), &event);
}

void Driver::handle(Client &client, uint32_t events) {
  if (client.isConnecting) {
    if (!(events & (EPOLLOUT | EPOLLERR | EPOLLHUP)))
      return;
    client.isConnecting = false;
    if (Status status = connectionStatus(client.socket); !status.isOk()) {
      client.socket = Descriptor();
      return fail(client, std::string(status.message()));
    }
  }
  if (events & EPOLLOUT)
    write(client);
  if (client.socket.isOpen() && events & (EPOLLIN | EPOLLERR | EPOLLHUP))
    read(client);
}

void Driver::write(Client &client) {
  if (client.isConnecting || !client.isBusy)
    return;
  std::string_view rest(client.request);
  rest.remove_prefix(client.sent);
  if (rest.empty())
    return;
  Transfer transfer = sendSome(client.socket, rest);
  client.sent += transfer.bytes;
  bool isOut = client.sent == client.request.size();
  // A closed side is noticed when it is read.
  watch(client, EPOLL_CTL_MOD,
        isOut || transfer.isClosed ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void Driver::read(Client &client) {
  Transfer transfer = receiveSome(client.socket, buffer.data(), buffer.size());
  if (transfer.isClosed)
    return takeEnd(client);
  if (transfer.bytes == 0)
    return;
  client.lastByte = now();
  // There is no request that these bytes could answer.
  if (!client.isBusy) {
    client.socket = Descriptor();
    return;
  }
  std::string body;
  Status status = client.http.take({buffer.data(), transfer.bytes}, body);
  if (client.http.status() == 200)
    takeBody(client, body);
  if (!status.isOk()) {
    client.socket = Descriptor();
    return fail(client, std::string(status.message()));
  }
  if (client.http.isComplete())
    finish(client);
}

void Driver::takeBody(Client &client, std::string_view body) {
  client.events.append(body);
  StreamEvent event;
  for (;;) {
    Result<bool> next = client.events.next(event);
    if (!next)
      event.error = next.status().message();
    else if (!*next)
      return;
    takeEvent(client, event);
    if (!next)
      return;
  }
}

void Driver::takeEvent(Client &client, const StreamEvent &event) {
  RequestRecord &record = result.records[client.record];
  client.hasEnd |= event.isLast;
  client.ids += event.ids;
  if (!event.error.empty())
    record.error = event.error;
  if (event.outputTokens) {
    client.hasUsage = true;
    record.outputTokens = *event.outputTokens;
    record.promptTokens = event.promptTokens.value_or(0);
    record.cachedTokens = event.cachedTokens;
  }
  if (!event.hasOutput)
    return;
  if (client.outputs++ == 0)
    record.first = client.lastByte;
  else
    record.gaps.push_back(client.lastByte - record.last);
  record.last = client.lastByte;
}

void Driver::takeEnd(Client &client) {
  client.socket = Descriptor();
  if (!client.isBusy)
    return;
  // The server closed it for being idle, as it may.
  if (client.isReused && !client.http.hasBegun())
    return send(client);
  if (Status status = client.http.takeEnd(); !status.isOk())
    return fail(client, "the connection was closed");
  finish(client);
}

void Driver::finish(Client &client) {
  RequestRecord &record = result.records[client.record];
  if (client.http.status() != 200)
    record.error = strCat("HTTP ", client.http.status());
  else if (record.error.empty() && !client.hasEnd)
    record.error = "the stream had no [DONE]";
  else if (record.error.empty() && client.outputs == 0)
    record.error = "the stream had no output";
  // Without usage, received ids are counted, or else events.
  if (!client.hasUsage)
    record.outputTokens = client.ids > 0 ? client.ids : client.outputs;
  if (!client.http.keepsAlive())
    client.socket = Descriptor();
  release(client);
}

void Driver::fail(Client &client, std::string error) {
  RequestRecord &record = result.records[client.record];
  if (record.error.empty())
    record.error = std::move(error);
  release(client);
}

void Driver::release(Client &client) {
  client.isBusy = false;
  idle.push_back(&client);
  ++ended;
}

void Driver::failLate() {
  if (now() < nextCheck)
    return;
  nextCheck = now() + 1;
  for (auto &client : clients) {
    if (!client->isBusy ||
        now() - client->lastByte < double(options.timeoutSeconds))
      continue;
    client->socket = Descriptor();
    fail(*client, strCat("nothing came for ", options.timeoutSeconds, " s"));
  }
}

} // namespace

Result<LoadResult> bench::runLoad(const TrafficOptions &options) {
  MTP_ASSIGN_OR_RETURN(Url url, parseUrl(options.url));
  MTP_ASSIGN_OR_RETURN(Address address, resolve(url));
  return Driver(options, std::move(url), address).run();
}
