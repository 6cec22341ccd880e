// A plugin that misbehaves in the way that HONE_HOSTILE names: "crash ask", "hang destroy", "exit entry". Otherwise its strategy proposes
// one position after the other, and its device is one that cannot be opened.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "hone/plugin.h"

namespace {

std::string given() {
  const char* const text = std::getenv("HONE_HOSTILE");
  return text != nullptr ? text : "";
}

bool is(const char* way) { return given() == way; }

void crash() {
  const volatile std::uintptr_t nowhere = 64;  // a store to what is known to be null may be left out, or reported by a sanitizer
  *reinterpret_cast<volatile int*>(nowhere) = 1;
}

void hang() {
  for (;;) {
    ::usleep(100'000);
  }
}

void flood() {
  const std::string line(1 << 16, 'x');
  for (int i = 0; i < 200; ++i) {
    std::printf("%s\n", line.c_str());
    std::fprintf(stderr, "%s\n", line.c_str());
  }
  std::fflush(stdout);
}

void take_all_memory() {
  std::vector<char*> taken;
  for (;;) {
    constexpr std::size_t kPiece = std::size_t{64} << 20;
    taken.push_back(new char[kPiece]);
  }
}

/// A child that outlives its parent, unless somebody ends it. HONE_HOSTILE_NOTE names a file for its number.
void leave_a_child(bool in_a_session_of_its_own) {
  if (::fork() != 0) {
    return;
  }
  if (in_a_session_of_its_own) {
    ::setsid();
  }
  if (const char* const note = std::getenv("HONE_HOSTILE_NOTE")) {
    if (std::FILE* const file = std::fopen(note, "a")) {
      std::fprintf(file, "%d\n", static_cast<int>(::getpid()));
      std::fclose(file);
    }
  }
  ::sleep(60);
  ::_exit(0);
}

void close_everything() {
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    ::close(descriptor);
  }
}

void write_garbage() {
  const std::string garbage(1 << 12, '\x7f');
  for (int descriptor = 3; descriptor < 16; ++descriptor) {
    if (::write(descriptor, garbage.data(), garbage.size()) < 0) {
      continue;
    }
  }
}

void change_surroundings() {
  if (::chdir("/") != 0) {
    return;
  }
  ::umask(0777);
  for (const int one : {SIGTERM, SIGINT, SIGSEGV, SIGPIPE, SIGCHLD, SIGHUP}) {
    ::signal(one, SIG_IGN);
  }
  ::setenv("HONE_WORKER", "/nowhere", 1);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_NOFILE, &none);
}

/// What can be done in any function.
void misbehave(const std::string& function) {
  const std::string way = given();
  if (way == "crash " + function) {
    crash();
  } else if (way == "exit " + function) {
    std::exit(0);
  } else if (way == "abort " + function) {
    std::fprintf(stderr, "out of luck\n");
    std::abort();
  } else if (way == "hang " + function) {
    hang();
  } else if (way == "flood " + function) {
    flood();
  } else if (way == "throw " + function) {
    throw std::runtime_error("thrown through C");
  } else if (way == "memory " + function) {
    take_all_memory();
  } else if (way == "child " + function) {
    leave_a_child(false);
  } else if (way == "child and crash " + function) {
    leave_a_child(false);
    crash();
  } else if (way == "daemon " + function) {
    leave_a_child(true);
  } else if (way == "close " + function) {
    close_everything();
  } else if (way == "stop " + function) {
    ::raise(SIGSTOP);
  } else if (way == "garbage " + function) {
    write_garbage();
  } else if (way == "kill parent " + function) {
    ::kill(::getppid(), SIGKILL);
  } else if (way == "surroundings " + function) {
    change_surroundings();
  }
}

struct Constructed {
  Constructed() { misbehave("constructor"); }
} const kConstructed;

struct Instance {
  std::uint64_t next = 0, size = 0, asked = 0;
};

std::int32_t create(const hone_strategy_context* context, void** instance, hone_message* message) {
  misbehave("create");
  if (is("fail create")) {
    std::strcpy(message->text, "it will not");
    return 1;
  }
  *instance = new Instance{0, context->space->size.low, 0};
  return 0;
}

std::int32_t ask(void* instance, std::size_t wanted, hone_position* positions, std::size_t* count, hone_message*) {
  Instance& self = *static_cast<Instance*>(instance);
  misbehave("ask");
  if (++self.asked == 3) {
    misbehave("third ask");
  }
  for (*count = 0; *count < wanted && self.next < self.size; ++*count) {
    positions[*count] = is("invalid ask") ? hone_position{~0ULL, 5} : hone_position{self.next++, 0};
  }
  return 0;
}

std::int32_t tell(void*, const hone_observation*, std::size_t, hone_message*) {
  misbehave("tell");
  return 0;
}

std::int32_t save(void*, void* sink, void (*write)(void*, const void*, std::size_t), hone_message*) {
  misbehave("save");
  const std::string kept(std::size_t{1} << 20, 'm');
  for (int i = 0; i < (is("large save") ? 300 : 0); ++i) {
    write(sink, kept.data(), kept.size());
  }
  write(sink, "x", 1);
  return 0;
}

void destroy(void* instance) {
  misbehave("destroy");
  delete static_cast<Instance*>(instance);
}

std::int32_t enumerate(void*, void (*)(void*, const hone_device_info*), hone_message* message) {
  misbehave("enumerate");
  std::strcpy(message->text, "there is none today");
  return 1;
}

std::int32_t no_version(hone_message* message) {
  misbehave("compiler_version");
  std::strcpy(message->text, "none");
  return 0;
}

hone_strategy strategy() {
  hone_strategy table{};
  table.struct_size = sizeof table;
  table.name = "hostile";
  table.summary = "misbehaves";
  table.create = create;
  table.ask = ask;
  table.tell = tell;
  table.save = save;
  table.destroy = destroy;
  return table;
}

hone_device device() {
  hone_device table{};
  table.struct_size = sizeof table;
  table.name = "hostile_device";
  table.enumerate = enumerate;
  table.compiler_version = no_version;
  table.create_compiler = [](const hone_device_info*, void**, hone_message*) -> std::int32_t { return 1; };
  table.compile = [](void*, const hone_compile_request*, const hone_compile_sink*, hone_message*) -> std::int32_t { return 1; };
  table.destroy_compiler = [](void*) {};
  table.open = [](const hone_device_info*, void**, hone_message*) -> std::int32_t { return 1; };
  table.close = [](void*) {};
  table.allocate = [](void*, std::size_t, void**, hone_message*) -> std::int32_t { return 1; };
  table.release = [](void*, void*) {};
  table.upload = [](void*, void*, const void*, std::size_t, hone_message*) -> std::int32_t { return 1; };
  table.download = table.upload;
  table.load = [](void*, const hone_load_request*, void**, hone_message*) -> std::int32_t { return 1; };
  table.unload = [](void*, void*) {};
  table.launch = [](void*, void*, void* const*, hone_message*) -> std::int32_t { return 1; };
  return table;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const hone_plugin* hone_plugin_entry() {
  misbehave("entry");
  static const hone_strategy own_strategy = strategy();
  static const hone_strategy* const all_strategies[] = {&own_strategy};
  static hone_device own_device = device();
  static const hone_device* const all_devices[] = {&own_device};
  static hone_plugin plugin{};
  plugin.struct_size = sizeof plugin;
  plugin.abi = HONE_PLUGIN_ABI;
  plugin.name = "hostile";
  plugin.version = "1";
  plugin.strategies = all_strategies;
  plugin.strategy_count = 1;
  plugin.devices = all_devices;
  plugin.device_count = 1;
  return &plugin;
}
