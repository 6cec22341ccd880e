// A damaged store: bytes of a sound SQLite store are changed, and all that reads one is run on it. Errors and missing rows are fine; a
// crash, a hang and a configuration or code that was never recorded are not.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/base/digest.hpp"
#include "engine/store/store.hpp"
#include "tests/fuzz/mutate.hpp"

namespace {

namespace fs = std::filesystem;
using hone::fuzz::require;

constexpr std::size_t kDamageBytes = 6;  ///< of one damage in an input: place (3), kind (1), operand (2)
constexpr std::size_t kPageBytes = 4096;

template <class T>
T must(hone::Result<T> result) {
  require(result.ok(), "the sound store works", result.ok() ? "" : result.error().message);
  return std::move(result).value();
}

std::vector<hone::Parameter> parameters() {
  hone::Parameter block, online;
  block.name = "block";
  block.values = {32, 64, 128, 256};
  block.default_value = 256;
  online.name = "online";
  online.kind = hone::ParameterKind::kBoolean;
  online.values = {false, true};
  online.cpp_type = "bool";
  online.default_value = true;
  return {block, online};
}

hone::RecordKey record_key(std::int64_t rows) {
  hone::RecordKey key;
  key.kernel = "softmax";
  key.source_hash = "0123456789abcdef0123456789abcdef";
  key.problem = {hone::DType::kF16, {{"rows", rows}, {"cols", 1024}}};
  key.device.id = "cuda:0";
  key.device.plugin = "cuda";
  key.device.product = "NVIDIA H200";
  key.device.uuid = "GPU-1";
  key.device.architecture = "sm_90a";
  key.device.properties = {{"multiprocessors", 132}, {"memory", 150'000'000'000}, {"l2_bytes", 52'428'800}};
  key.device.environment = {{"driver", "580.82"}, {"compiler", "NVRTC 13.0"}};
  return key;
}

hone::Trial trial(hone::Count position, hone::Outcome outcome) {
  hone::Trial made;
  made.configuration.values = {hone::Value(32 << static_cast<int>(position % 4)), hone::Value(position >= 4)};
  made.position = position;
  made.outcome = outcome;
  made.detail = outcome == hone::Outcome::kOk ? "" : "y[3] is 0, not 1";
  if (outcome == hone::Outcome::kOk) {
    made.measurement = {.samples_us = {10.5, 10.25, 11.0}, .median_us = 10.5, .ci95_low_us = 10.25, .ci95_high_us = 11.0};
  }
  made.artifact = "a1";
  return made;
}

std::shared_ptr<const hone::Artifact> artifact() {
  hone::Artifact made;
  for (int i = 0; i < 300; ++i) {
    made.bytes.push_back(static_cast<std::byte>(i * i >> 3));
  }
  made.digest = hone::digest(made.bytes);
  return std::make_shared<hone::Artifact>(made);
}

/// What was recorded, and where the sound and the damaged file lie.
struct Truth {
  fs::path folder;
  std::vector<hone::Parameter> parameters = ::parameters();
  std::vector<hone::RecordKey> keys{record_key(512), record_key(4096)};
  std::vector<std::string> configurations{"block=64,online=false", "block=128,online=true"};
  std::shared_ptr<const hone::Artifact> artifact = ::artifact();
  hone::CompiledKey compiled{.source_hash = keys[0].source_hash,
                             .dtype = hone::DType::kF16,
                             .configuration = configurations[0],
                             .architecture = "sm_90a",
                             .compiler = "NVRTC 13.0"};
  std::vector<std::string> symbols{"_Z7softmax"};
  std::string bytes;

  Truth() {
    const fs::path memory = "/dev/shm";
    std::error_code failure;
    std::string name = ((fs::is_directory(memory, failure) ? memory : fs::temp_directory_path()) / "hone_store_fuzz_XXXXXX").string();
    require(mkdtemp(name.data()) != nullptr, "there is a folder for the store");
    folder = name;
    setenv("XDG_DATA_HOME", folder.c_str(), 1);  // nothing of the user's own
    record();
    std::ifstream stream(sound(), std::ios::binary);
    bytes = {std::istreambuf_iterator<char>(stream), {}};
  }
  Truth(const Truth&) = delete;
  Truth& operator=(const Truth&) = delete;
  ~Truth() {
    std::error_code failure;
    fs::remove_all(folder, failure);
  }

  [[nodiscard]] fs::path sound() const { return folder / "sound.db"; }
  [[nodiscard]] fs::path damaged() const { return folder / "damaged.db"; }

  void record() const {
    const auto store = must(hone::open_store(sound(), hone::StoreMode::kReadWrite));
    must(store->put_compiled(compiled, {artifact, symbols, {.registers = 40}}));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::int64_t session = must(store->begin_session({keys[i], "auto", "", 1}, "60s"));
      for (int position = 0; position < 6; ++position) {
        must(store->add_trial(session, parameters, trial(position, position == 3 ? hone::Outcome::kWrongResult : hone::Outcome::kOk), 1.0));
      }
      hone::Record record;
      record.configuration_text = configurations[i];
      record.measurement = trial(0, hone::Outcome::kOk).measurement;
      record.default_us = 20.0;
      record.trials = 6;
      record.artifact = artifact->digest;
      record.symbols = symbols;
      must(store->finish_session(session, keys[i], record, 6.0));
    }
    must(store->begin_session({record_key(77), "auto", "", 2}, "60s"));
    must(store->put_model("softmax", "learned", "weights"));
    const auto found = must(store->find_record(keys[0], parameters));
    require(found && store->load_code(*found).ok() && must(store->find_compiled(compiled)), "the sound store gives out what was recorded");
  }
  static void must(const hone::Result<void>& result) {
    require(result.ok(), "the sound store works", result.ok() ? "" : result.error().message);
  }
  template <class T>
  static T must(hone::Result<T> result) {
    return ::must(std::move(result));
  }
};

const Truth& truth() {
  static const Truth known;
  return known;
}

/// The sound bytes with all damages of the input.
std::string damaged_bytes(const std::uint8_t* data, std::size_t size) {
  std::string bytes = truth().bytes;
  for (; size >= kDamageBytes && !bytes.empty(); data += kDamageBytes, size -= kDamageBytes) {
    const std::size_t place = (data[0] | data[1] << 8 | data[2] << 16) % bytes.size();
    const std::size_t operand = static_cast<std::size_t>(data[4] | data[5] << 8), most = bytes.size() - place;
    switch (data[3] % 8) {
      case 0:
      case 1:
        bytes[place] = static_cast<char>(bytes[place] ^ data[4]);
        break;
      case 2:
        bytes[place] = static_cast<char>(data[4]);
        break;
      case 3:  // SQLite's numbers are big-endian
        std::memcpy(bytes.data() + place, data + 4, std::min<std::size_t>(2, most));
        break;
      case 4:
        std::memset(bytes.data() + place, data[4] & 1 ? 0xff : 0, std::min(operand % 512, most));
        break;
      case 5: {  // a page over another
        const std::size_t from = operand * kPageBytes % bytes.size(), to = place / kPageBytes * kPageBytes;
        std::memmove(bytes.data() + to, bytes.data() + from, std::min({kPageBytes, bytes.size() - from, bytes.size() - to}));
        break;
      }
      case 6:  // a few bytes from elsewhere
        std::memmove(bytes.data() + place, bytes.data() + operand % bytes.size(),
                     std::min({std::size_t{1} + data[4] % 32, most, bytes.size() - operand % bytes.size()}));
        break;
      default:
        if (data[4] % 4 == 0) {
          bytes.resize(place);
        }
    }
  }
  return bytes;
}

void write_damaged(const std::string& bytes) {
  std::error_code failure;
  for (const char* ending : {"-journal", "-wal", "-shm"}) {
    fs::remove(truth().damaged().string() + ending, failure);
  }
  const int file = ::open(truth().damaged().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const bool written = file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  ::close(file);
  require(written, "the damaged file can be written");
}

bool was_recorded(const std::string& configuration) {
  return std::ranges::find(truth().configurations, configuration) != truth().configurations.end();
}

/// What an application would launch.
void check_record(hone::Store& store, const hone::Record& record) {
  const auto code = store.load_code(record);
  if (!code) {
    return;  // it is compiled anew, from a configuration that valid() has checked
  }
  require(was_recorded(hone::text(truth().parameters, record.configuration)), "code is launched with the configuration that it was made of",
          record.configuration_text);
  require(code->artifact->bytes == truth().artifact->bytes && code->symbols == truth().symbols,
          "code that is launched is what was recorded");
}

void read_all(hone::Store& store) {
  static_cast<void>(store.sessions().ok());
  static_cast<void>(store.devices().ok());
  for (std::int64_t session = 1; session <= 3; ++session) {
    static_cast<void>(store.trials(session, truth().parameters).ok());
  }
  static_cast<void>(store.histories("softmax", truth().parameters, 0, 100).ok());
  static_cast<void>(store.find_model("softmax", "learned").ok());
  for (const hone::RecordKey& key : truth().keys) {
    if (const auto found = store.find_record(key, truth().parameters); found && *found) {
      check_record(store, **found);
    }
  }
  if (const auto records = store.records_of(truth().keys[0], truth().parameters)) {
    for (const hone::Record& record : *records) {
      check_record(store, record);
    }
  }
  if (const auto compiled = store.find_compiled(truth().compiled); compiled && *compiled) {
    require((*compiled)->artifact->bytes == truth().artifact->bytes && (*compiled)->symbols == truth().symbols,
            "compiled code that is found is what was kept");
  }
}

void write_some(hone::Store& store) {
  const hone::SessionKey key{truth().keys[0], "auto", "", 3};
  static_cast<void>(store.resume_session({record_key(77), "auto", "", 2}).ok());
  if (const auto session = store.begin_session(key, "60s")) {
    static_cast<void>(store.add_trial(*session, truth().parameters, trial(1, hone::Outcome::kOk), 1.0).ok());
    static_cast<void>(store.finish_session(*session, truth().keys[1], std::nullopt, 2.0).ok());
  }
  static_cast<void>(store.put_compiled(truth().compiled, {truth().artifact, truth().symbols, {}}).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const bool writes = size > 0 && data[0] % 4 == 0;
  write_damaged(damaged_bytes(data + std::min<std::size_t>(size, 1), size - std::min<std::size_t>(size, 1)));
  auto store = hone::open_store(truth().damaged(), writes ? hone::StoreMode::kReadWrite : hone::StoreMode::kReadOnly);
  if (!store) {
    require(!store.error().message.empty(), "an error says what is wrong");
    return 0;
  }
  read_all(**store);
  if (writes) {
    write_some(**store);
  }
  return 0;
}

/// Places are drawn over the whole file, and more often in what is not empty.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  hone::fuzz::Random random(seed);
  const std::string& sound = truth().bytes;
  const std::size_t damages = 1 + random.below(random.one_in(4) ? 16 : 3);
  if (random.one_in(4) && size > 1) {
    return LLVMFuzzerMutate(data, size, max_size);
  }
  if (size > 200 || size == 0 || random.one_in(2)) {
    size = 1;
    data[0] = static_cast<std::uint8_t>(random());
  }
  for (std::size_t i = 0; i < damages && size + kDamageBytes <= max_size; ++i, size += kDamageBytes) {
    std::size_t place = random.below(sound.size());
    for (int tries = 0; tries < 50 && sound[place] == 0; ++tries) {
      place = random.below(sound.size());
    }
    const std::uint64_t rest = random();
    for (std::size_t b = 0; b < 3; ++b) {
      data[size + b] = static_cast<std::uint8_t>(place >> (8 * b));
      data[size + 3 + b] = static_cast<std::uint8_t>(rest >> (8 * b));
    }
  }
  return size;
}
