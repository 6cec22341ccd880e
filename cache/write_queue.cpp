#include "cache/write_queue.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

namespace hone::cache {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

// A ticket is a lock on one byte of the file, at kTickets + its number; the system takes it away with its process. The file itself holds
// three numbers: the next ticket, the one whose turn it is, and the process that has it. They only decide how fair and how patient a wait
// is, never who may write.
constexpr std::int64_t kCounter = std::int64_t{1} << 40, kTickets = std::int64_t{1} << 41;
constexpr off_t kNext = 0, kServing = sizeof(std::int64_t), kServed = 2 * sizeof(std::int64_t);
constexpr double kLongestTurn = 600.0;    // seconds: of a process that runs and does not come to an end
constexpr double kCounterSeconds = 20.0;  // it is held for microseconds, unless its process gets no time

fs::path line_of(const fs::path& store) { return store.string() + "-line"; }

/// Open file description locks belong to the descriptor: threads wait for each other too, and closing another one loses nothing.
bool lock(int file, short type, std::int64_t begin, std::int64_t bytes) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = begin;
  range.l_len = bytes;
  return fcntl(file, F_OFD_SETLK, &range) == 0;
}

bool anybody_holds(int file, std::int64_t begin, std::int64_t bytes) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = begin;
  range.l_len = bytes;
  return bytes > 0 && fcntl(file, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

std::int64_t read_number(int file, off_t at) {
  std::int64_t number = 0;
  return pread(file, &number, sizeof number, at) == sizeof number && number >= 0 && number < kCounter ? number : 0;
}

void write_number(int file, off_t at, std::int64_t number) { static_cast<void>(pwrite(file, &number, sizeof number, at) == sizeof number); }

/// Waiting for it by a lock that blocks could not be ended where its holder is stopped.
bool lock_counter(int file) {
  const auto until = Clock::now() + std::chrono::duration<double>(kCounterSeconds);
  while (!lock(file, F_WRLCK, kCounter, 1)) {
    if ((errno != EAGAIN && errno != EACCES) || Clock::now() > until) {
      return false;
    }
    std::this_thread::sleep_for(Milliseconds(0.05));
  }
  return true;
}

void unlock_counter(int file) { static_cast<void>(lock(file, F_UNLCK, kCounter, 1)); }

bool is_removed(int file) {
  struct stat status {};
  return fstat(file, &status) != 0 || status.st_nlink == 0;
}

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Whether there is such a process and nobody has stopped it.
bool is_running(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string stat;
  std::getline(file, stat);
  const std::size_t command_end = stat.rfind(')');  // the command, in parentheses, may hold others
  const char state = command_end == std::string::npos || command_end + 2 >= stat.size() ? 'X' : stat[command_end + 2];
  return state == 'R' || state == 'S' || state == 'D';
}

}  // namespace

bool QueuePlace::is_line(const fs::path& store) { return access(line_of(store).c_str(), F_OK) == 0; }

std::optional<QueuePlace> QueuePlace::join(const fs::path& store) {
  const fs::path path = line_of(store);
  constexpr int kTries = 100;  // each lost to somebody who left the line empty and removed it
  for (int i = 0; i < kTries; ++i) {
    struct stat like {};
    const mode_t mode = stat(store.c_str(), &like) == 0 ? like.st_mode & 0666 : 0600;  // who writes the store may wait for it
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, mode);
    if (file < 0) {
      return std::nullopt;
    }
    if (!lock_counter(file)) {
      close(file);
      return std::nullopt;
    }
    if (!is_removed(file)) {
      const std::int64_t ticket = read_number(file, kNext);
      write_number(file, kNext, ticket + 1);
      const bool joined = lock(file, F_WRLCK, kTickets + ticket, 1);
      unlock_counter(file);
      if (!joined) {
        close(file);
        return std::nullopt;
      }
      return QueuePlace(path, file, ticket);
    }
    close(file);
  }
  return std::nullopt;
}

QueuePlace::QueuePlace(QueuePlace&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)), ticket_(other.ticket_) {}

QueuePlace::~QueuePlace() {
  if (file_ < 0) {
    return;
  }
  // The last one removes the file. Whoever has opened it meanwhile waits for the counter, and then sees that it is gone.
  if (lock_counter(file_) && !anybody_holds(file_, kTickets, kCounter) && !is_removed(file_)) {
    unlink(path_.c_str());
  }
  // Closing would do, were it not for a process that was forked meanwhile: it shares the locks.
  static_cast<void>(lock(file_, F_UNLCK, 0, 0));
  close(file_);
}

bool QueuePlace::wait(double patience_seconds) const {
  constexpr double kShortest = 0.1, kLongest = 20.0, kEach = 0.5;  // milliseconds, by how many are before this one
  std::int64_t serving = -1;
  auto turn = Clock::now(), looked = turn;
  int strikes = 0;  // one that was just ending is not seen twice
  while (anybody_holds(file_, kTickets, ticket_)) {
    const std::int64_t now = read_number(file_, kServing);
    if (now != serving) {
      serving = now;
      turn = looked = Clock::now();
      strikes = 0;
    } else if (seconds_since(looked) > patience_seconds) {
      looked = Clock::now();
      strikes = is_running(read_number(file_, kServed)) ? 0 : strikes + 1;
    }
    if (strikes == 2 || seconds_since(turn) > kLongestTurn) {
      return false;
    }
    const double before = static_cast<double>(std::max<std::int64_t>(1, ticket_ - now));
    std::this_thread::sleep_for(Milliseconds(std::clamp((before - 1.0) * kEach, kShortest, kLongest)));
  }
  write_number(file_, kServed, getpid());
  write_number(file_, kServing, ticket_);
  return true;
}

}  // namespace hone::cache
