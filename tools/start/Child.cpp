//===- Child.cpp - A program that runs for another one --------------------===//

#include "tools/start/Child.h"

#include "runtime/cache/Descriptor.h"
#include "runtime/core/StrCat.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace mtp;
using mtp::cache::Descriptor;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// How often a caller is asked whether a child shall end.
static constexpr std::chrono::milliseconds kPeriod{100};

static bool isProgram(const std::string &path) {
  struct stat info;
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

std::string start::findProgram(const std::string &name,
                               const std::string &folder) {
  std::error_code error;
  if (std::string inside = strCat(folder, "/", name);
      !folder.empty() && isProgram(inside))
    return inside;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (std::string beside = self.replace_filename(name).string();
      !error && isProgram(beside))
    return beside;
  const char *variable = std::getenv("PATH");
  std::string_view rest = variable ? variable : "/usr/local/bin:/usr/bin:/bin";
  while (true) {
    size_t end = rest.find(':');
    // An empty folder would be the current one, which is not searched.
    std::string folder(rest.substr(0, end));
    if (std::string path = strCat(folder, "/", name);
        !folder.empty() && isProgram(path))
      return fs::absolute(path, error).string();
    if (end == rest.npos)
      return "";
    rest.remove_prefix(end + 1);
  }
}

namespace {

constexpr std::array kSignals = {SIGINT, SIGTERM, SIGHUP};
/// The running child; 0: none.
volatile std::sig_atomic_t childId = 0;
/// The first signal that arrived while the child ran; 0: none.
volatile std::sig_atomic_t interrupt = 0;

void forward(int number) {
  if (childId > 0)
    ::kill(pid_t(childId), interrupt ? SIGKILL : number);
  interrupt = number;
}

/// Forwards signals to the child while this object exists. Signals that the
/// caller ignores, as nohup does, stay ignored.
class Forwarding {
public:
  Forwarding() {
    interrupt = 0;
    childId = 0;
    sigset_t blocked;
    sigemptyset(&blocked);
    for (int number : kSignals)
      sigaddset(&blocked, number);
    // Until the child's number is known.
    ::sigprocmask(SIG_BLOCK, &blocked, &mask);
    struct sigaction action = {};
    action.sa_handler = forward;
    for (size_t i = 0; i < kSignals.size(); ++i) {
      ::sigaction(kSignals[i], nullptr, &before[i]);
      if (before[i].sa_handler != SIG_IGN)
        ::sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~Forwarding() {
    for (size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &before[i], nullptr);
    childId = 0;
    begin();
  }
  /// Lets signals arrive.
  void begin() { ::sigprocmask(SIG_SETMASK, &mask, nullptr); }
  /// Gives a child the signals of its parent.
  void restoreInChild() {
    for (size_t i = 0; i < kSignals.size(); ++i)
      ::sigaction(kSignals[i], &before[i], nullptr);
    begin();
  }

private:
  sigset_t mask;
  std::array<struct sigaction, kSignals.size()> before;
};

/// Both ends of a pipe.
struct Pipe {
  Descriptor read, write;

  static Result<Pipe> open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return resourceExhausted(
          strCat("cannot make a pipe: ", std::strerror(errno)));
    return Pipe{Descriptor(ends[0]), Descriptor(ends[1])};
  }
};

/// Becomes the program, with signals as `forwarding` found them; null: as they
/// are. Writes the error number to `failure` if that fails.
[[noreturn]] void become(char *const *command, pid_t parent,
                         Forwarding *forwarding, int error, int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent)
    ::_exit(1);
  int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(error, STDERR_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  if (forwarding)
    forwarding->restoreInChild();
  ::execv(command[0], command);
  int number = errno;
  (void)!::write(failure, &number, sizeof(number));
  ::_exit(1);
}

/// Reads a pipe and passes lines on.
class LineReader {
public:
  LineReader(int pipe, const std::function<void(std::string)> &onLine)
      : pipe(pipe), onLine(onLine) {}

  /// Waits for a part of the text; returns false at the end of the pipe.
  bool readPart() {
    std::array<char, 4096> part;
    ssize_t got = ::read(pipe, part.data(), part.size());
    if (got < 0 && errno == EINTR)
      return true;
    if (got <= 0)
      return false;
    text.append(part.data(), size_t(got));
    for (size_t end; (end = text.find('\n')) != text.npos;) {
      onLine(text.substr(0, end + 1));
      text.erase(0, end + 1);
    }
    return true;
  }

  /// Passes on the last line, if it has no end.
  void finish() {
    if (!text.empty())
      onLine(text + "\n");
  }

private:
  int pipe;
  const std::function<void(std::string)> &onLine;
  std::string text;
};

start::ChildEnd waitFor(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  start::ChildEnd end;
  if (WIFSIGNALED(status))
    end.signal = WTERMSIG(status);
  else
    end.status = WEXITSTATUS(status);
  return end;
}

std::vector<char *> wordsOf(const std::vector<std::string> &command) {
  std::vector<char *> words;
  for (const std::string &word : command)
    words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
  return words;
}

/// Returns the error of become(), from its pipe.
Status startError(const std::string &program, int pipe) {
  int number;
  if (::read(pipe, &number, sizeof(number)) == sizeof(number))
    return failedPrecondition(
        strCat("cannot start ", program, ": ", std::strerror(number)));
  return okStatus();
}

} // namespace

Result<start::ChildEnd>
start::runChild(const std::vector<std::string> &command,
                const std::function<void(std::string)> &onLine) {
  std::vector<char *> words = wordsOf(command);
  MTP_ASSIGN_OR_RETURN(Pipe failure, Pipe::open());
  MTP_ASSIGN_OR_RETURN(Pipe lines, Pipe::open());
  int error = onLine ? lines.write.get() : STDERR_FILENO;
  pid_t self = ::getpid();
  Forwarding forwarding;
  pid_t child = ::fork();
  if (child < 0)
    return resourceExhausted(
        strCat("cannot start ", command[0], ": ", std::strerror(errno)));
  if (child == 0)
    become(words.data(), self, &forwarding, error, failure.write.get());
  childId = child;
  forwarding.begin();
  failure.write = Descriptor();
  lines.write = Descriptor();
  if (onLine) {
    LineReader reader(lines.read.get(), onLine);
    while (reader.readPart())
      ;
    reader.finish();
  }
  ChildEnd end = waitFor(child);
  end.interrupt = interrupt;
  MTP_RETURN_IF_ERROR(startError(command[0], failure.read.get()));
  return end;
}

Result<start::ChildEnd>
start::runCancellable(const std::vector<std::string> &command,
                      const std::function<void(std::string)> &onLine,
                      const std::function<bool()> &isCancelled) {
  std::vector<char *> words = wordsOf(command);
  MTP_ASSIGN_OR_RETURN(Pipe failure, Pipe::open());
  MTP_ASSIGN_OR_RETURN(Pipe lines, Pipe::open());
  pid_t self = ::getpid();
  pid_t child = ::fork();
  if (child < 0)
    return resourceExhausted(
        strCat("cannot start ", command[0], ": ", std::strerror(errno)));
  if (child == 0)
    become(words.data(), self, nullptr, lines.write.get(), failure.write.get());
  failure.write = Descriptor();
  lines.write = Descriptor();
  ChildEnd end;
  LineReader reader(lines.read.get(), onLine);
  Clock::time_point asked = Clock::now();
  for (bool isOpen = true; isOpen;) {
    pollfd pipe{lines.read.get(), POLLIN, 0};
    if (::poll(&pipe, 1, kPeriod.count()) > 0)
      isOpen = reader.readPart();
    if (Clock::now() - asked < kPeriod * (end.interrupt ? 10 : 1))
      continue;
    asked = Clock::now();
    if (end.interrupt)
      ::kill(child, SIGKILL);
    else if (isCancelled()) {
      end.interrupt = SIGINT;
      ::kill(child, SIGINT);
    }
  }
  reader.finish();
  int interrupt = end.interrupt;
  end = waitFor(child);
  end.interrupt = interrupt;
  MTP_RETURN_IF_ERROR(startError(command[0], failure.read.get()));
  return end;
}

void start::endBySignal(int number) {
  std::signal(number, SIG_DFL);
  std::raise(number);
  std::_Exit(128 + number);
}
