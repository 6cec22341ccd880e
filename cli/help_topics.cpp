#include "cli/help_topics.hpp"

#include <array>

namespace hone::cli {
namespace {

constexpr std::string_view kBudgets = R"(How long a search may take

  hone tune softmax --budget 30s            seconds; also 5m, 2h
  hone tune softmax --budget 200trials      trials
  hone tune softmax --budget 5m,200trials   whichever comes first

A session keeps to its budget: compiling, validating, timing and the final
round are all part of it. The last tenth of a budget in seconds is for the
final round, in which the best are measured again beside the default. What
has begun ends, though: of a few seconds a session may take one or two more,
and a default that hangs is waited for half a minute.

Ctrl-C ends a session early and keeps the best so far. The same command
resumes it; --fresh begins anew. A larger --budget goes on where the smaller
one ended, as long as the session was not finished.

With --shapes and --workload the budget is for everything together.
)";

constexpr std::string_view kConfiguration = R"(Defaults from a file

  $HONE_CONFIG, else hone/config.toml of $XDG_CONFIG_HOME or ~/.config:

    store = "/data/hone.db"     # of every verb that has --store
    [tune]
    budget = "60s"              # of this verb

The command line comes before the file. An empty HONE_CONFIG means no file.

Environment:
  HONE_STORE          the store where --store is not given
  HONE_PLUGIN_PATH    where plugins are found by name
  HONE_FORCE_DEFAULT  kernels that run their default, in programs; "all"
  NO_COLOR            no colours on a terminal, as with --color never
)";

constexpr std::string_view kDevices = R"(Where kernels are compiled and measured

  hone devices                          what is here
  hone doctor                           what is missing, and what that costs
  hone tune softmax --device cuda:1     one device
  hone tune softmax --device "cuda:*"   all of one product, in one session
  hone tune softmax --device cpu        the same kernel file on the host

Without --device the best device that is present is used: cuda before cpu.
The cpu device emulates: it is for checking, and its times say nothing of a
GPU. Records belong to a product, so they serve other cards of the same kind.

  hone devices --measure                measures peaks, for "how far from the
                                        limit" in reports and in hone run
)";

constexpr std::string_view kExitCodes = R"(What the exit code says

  0    done
  1    a failure of the device, the disk or a worker; output that could not
       be written; hone bench: something is slower, wrong or newly failing
  2    bad input, something that is missing, no correct configuration
  130  interrupted by Ctrl-C; what was found until then is kept

Errors are one line on standard error. With --json they are an object on
standard output, too: {"error": {"message": ...}}. Progress is shown on
standard error alone, so that standard output can be read by programs.
)";

constexpr std::string_view kKernels = R"(What can be tuned

  hone kernels                          built-in kernels and operations
  hone kernels softmax                  one of them: parameters, constraints
  hone kernels my_kernel.cu             a file of your own
  hone space softmax --explain          what each constraint leaves over

A kernel is one CUDA source file. It declares its Problem, its tunable
parameters (TUNE), what is legal (valid), what its author expects to win
(likely), how it is launched, and a reference that computes the right answer.
A plain CUDA file needs less: see docs/kernels.md.

An operation (matmul) has several kernels. hone tune matmul searches all of
them with one budget; --without KERNEL leaves one out.
)";

constexpr std::string_view kLikely = R"(Legal and likely configurations

A kernel file may say, beside what is legal (valid), what its author expects
to win (likely). Expectations order a search and exclude nothing:

  --likely first    the likely ones first, then all legal ones (default)
  --likely only     the likely ones, and the default
  --likely ignore   all legal ones alike

The default and the record of the problem are always tried. A report says
when the winner breaks an expectation, which is then wrong for that problem.

  hone space softmax --explain    what each expectation leaves, and what the
                                  store knows against it
)";

constexpr std::string_view kObjectives = R"(What a session minimizes

  hone tune softmax --objective time     the median time (default)
  hone tune softmax --objective p99      the 99th percentile of the time; any
                                         from p50.1 to p99.9
  hone tune softmax --objective energy   the energy of one run
  hone tune softmax --objective edp      energy times time

Each objective has its own records: hone best and hone run take the same
option, programs EngineOptions::objective. What was tuned for one objective
alone does not serve another.

Energy is read from the device's own counter (NVML on NVIDIA GPUs), while runs
follow one another for at least a tenth of a second, six times or more: a
trial takes seconds instead of milliseconds. Tune by time first: a session by
energy begins with what is fastest. Caches hold what the run before has left.
A device without a counter is refused before anything runs. Power limits and
clocks are read, never set.

A percentile takes enough single calls for its interval: 36 for p90, 368 for
p99. Other objectives than time are for one kernel, one shape and one device.

  hone run softmax --objective energy    energy of one configuration
  hone report 3 --out page.html          time against energy of all trials
)";

constexpr std::string_view kRecords = R"(What a store serves

  hone records                          the winners that are served
  hone best softmax --shape rows=4096   the winner for a problem
  hone verify                           validates and times them again
  hone records 12 --set approved        or pinned, withdrawn, candidate
  hone records --log                    what changed, and when
  hone records --roll-back 40           serve what generation 40 served

A record is the winner for a kernel, a problem, a device product and an
objective. Nothing is overwritten: a better winner is added, and replaces the
old one only where their confidence intervals part or both were measured side
by side. A configuration that turns out to be wrong is withdrawn.
)";

constexpr std::string_view kReports = R"(Why the winner wins

  hone sessions                         sessions and their numbers
  hone report 3                         the answer in a few lines
  hone report 3 --out session.html      one page with pictures
  hone report 3 5 --out sessions.html   several, beside each other
  hone report 3 --csv trials.csv        every trial as a row
  hone report 3 --svg pictures          every picture as a file

The page begins with the answer; then: what changed from the default, how the
search went, which parameters matter, what failed, where the seconds went, how
far the winner is from the limit of the device. It needs no network.
)";

constexpr std::string_view kShapes = R"(Problems: types and shapes

  --dtype bf16                    of the kernel's elements
  --dtype "In=e4m3,Out=bf16"      of a kernel with several element types
  --shape rows=4096,cols=1024     fields of the kernel's Problem; those that
                                  are left out have their defaults

A record is for one shape. For others the lookup takes, in this order: the
exact record, what a portfolio predicts, the record of a shape nearby, what a
portfolio for similar problems predicts (another dtype of the same size, or
another layout), the record of the nearest shape however far, the default.

  hone tune softmax --shapes "rows=1..65536,cols=1..131072"
                                  a portfolio: few configurations for a range
  hone portfolios                 those that there are
  hone tune --workload calls.jsonl
                                  what an application recorded of its calls
)";

constexpr std::string_view kStores = R"(Where sessions and records are kept

  --store S.db                              a SQLite file
  --store postgres://user@host/database     a server that hosts share
  HONE_STORE                                where --store is not given

Without both it is hone/store.db of your data directory (~/.local/share).
Many processes may tune into one store at once.

  hone store info      what it holds, and how large it is
  hone store check     finds damage
  hone store backup    a copy while others write
  hone store merge     brings two stores together
  hone store pull      a file for applications, from a server

Compiled code from somebody else's store is not launched until you allow it:
hone trust S.db.
)";

constexpr std::string_view kStrategies = R"(How the space is searched

  hone strategies                       all of them, also from plugins
  hone strategies bayesian              one of them and its parameters
  hone tune softmax --strategy random --seed 7
  hone tune softmax --strategy bayesian --set NAME=VALUE
  hone tune softmax --strategy mine --plugin libmine.so

auto (the default) is a Gaussian process over the legal configurations with a
share of random proposals. It begins with what the store knows of other shapes
and devices; --no-transfer leaves that out.

  hone compare --strategy mine --strategy auto --spaces DIR
                                        scores strategies on recorded spaces,
                                        without a GPU
)";

constexpr std::array kTopics{
    Topic{"budgets", "how long a search may take, and how it ends", kBudgets},
    Topic{"configuration", "defaults from a file, and environment variables", kConfiguration},
    Topic{"devices", "where kernels are compiled and measured", kDevices},
    Topic{"exit-codes", "what the exit code says", kExitCodes},
    Topic{"kernels", "kernel files and operations", kKernels},
    Topic{"likely", "legal configurations, and those that are expected to win", kLikely},
    Topic{"objectives", "time, its percentiles, energy, and their product", kObjectives},
    Topic{"records", "the winners that a store serves", kRecords},
    Topic{"reports", "pages and tables that explain sessions", kReports},
    Topic{"shapes", "types, shapes, and shapes that nobody tuned", kShapes},
    Topic{"stores", "files and servers that keep sessions and records", kStores},
    Topic{"strategies", "how the space is searched", kStrategies},
};

}  // namespace

std::span<const Topic> topics() { return kTopics; }

}  // namespace hone::cli
