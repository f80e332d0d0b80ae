/// taskgrain-run: starts a program as several ranks on this host.

#include <algorithm>
#include <charconv>
#include <exception>
#include <iostream>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "comm/launcher.hpp"
#include "comm/segment.hpp"
#include "taskgrain/rt/cores.hpp"

namespace taskgrain::rt::detail {

namespace {

constexpr std::string_view help = R"(taskgrain-run -n RANKS [--cores LIST] PROGRAM [ARGUMENTS...]

Starts PROGRAM as several ranks on this host, which share memory.

  -n, --ranks RANKS  how many
  --cores LIST       the processors that they share out among them, such as 0,2,4-7, in this order.
                     Without this option they share those that this program may use, whole cores at a time;
                     where there are fewer than ranks, several ranks share one.
                     `all`: each rank may use all of them
  -h, --help         prints this

Only rank 0 reads the standard input. SIGINT, SIGTERM and SIGHUP are passed on to all ranks. When a rank fails, the
others are told; those that have not ended after 5 seconds are ended. The exit code is that of the first rank that
failed, or 128 and the number of its signal.
)";

struct BadArguments : std::runtime_error {
  using std::runtime_error::runtime_error;
};

int parse_number(std::string_view text, const std::string& option, int least, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least || number > most)
    throw BadArguments(option + ": '" + std::string(text) + "'; allowed are " + std::to_string(least) + " to " +
                       std::to_string(most));
  return number;
}

/// "0,2,4-7"
std::vector<int> parse_processors(std::string_view text) {
  const std::vector<std::vector<int>> cores = usable_cores();
  std::set<int> usable;
  for (const auto& core : cores) usable.insert(core.begin(), core.end());
  std::string allowed;
  for (const int each : usable) {
    if (!allowed.empty()) allowed += ',';
    allowed += std::to_string(each);
  }
  const auto number = [&](std::string_view part) { return parse_number(part, "--cores", 0, 1 << 20); };

  std::vector<int> found;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    const std::size_t dash = part.find('-');
    const int first = number(part.substr(0, dash));
    const int last = dash == std::string_view::npos ? first : number(part.substr(dash + 1));
    if (last < first) throw BadArguments("--cores: '" + std::string(part) + "' ends before it begins");
    for (int each = first; each <= last; ++each) {
      if (!usable.contains(each))
        throw BadArguments("--cores: processor " + std::to_string(each) + "; this process may use " + allowed);
      if (std::ranges::find(found, each) != found.end())
        throw BadArguments("--cores: processor " + std::to_string(each) + " is there twice");
      found.push_back(each);
    }
    if (comma == std::string_view::npos) return found;
    text.remove_prefix(comma + 1);
  }
}

/// Shares out cores: as many to each rank as can be, and neighbours.
std::vector<std::vector<int>> share_out(const std::vector<std::vector<int>>& cores, int ranks) {
  const std::size_t number = cores.size(), parts = static_cast<std::size_t>(ranks);
  std::vector<std::vector<int>> shares(parts);
  for (std::size_t rank = 0; rank < parts; ++rank) {
    const std::size_t first = number < parts ? rank % number : rank * number / parts;
    const std::size_t last = number < parts ? first + 1 : (rank + 1) * number / parts;
    for (std::size_t core = first; core < last; ++core)
      shares[rank].insert(shares[rank].end(), cores[core].begin(), cores[core].end());
  }
  return shares;
}

/// Nothing if help is asked for.
std::optional<Launch> parse(const std::vector<std::string>& arguments) {
  Launch launch{.ranks = 0, .command = {}, .processors = {}};
  std::optional<std::string> cores;
  std::size_t next = 0;
  for (; next < arguments.size() && arguments[next].starts_with('-'); ++next) {
    std::string option = arguments[next];
    if (option == "-h" || option == "--help") return std::nullopt;
    if (option == "--") {
      ++next;
      break;
    }
    std::optional<std::string> value;
    if (const std::size_t equals = option.find('='); option.starts_with("--") && equals != std::string::npos) {
      value = option.substr(equals + 1);
      option.resize(equals);
    } else if (option.starts_with("-n") && option.size() > 2) {  // -n4
      value = option.substr(2);
      option.resize(2);
    }
    if (option != "-n" && option != "--ranks" && option != "--cores")
      throw BadArguments("option '" + option + "'; there are -n, --ranks, --cores and --help");
    if (!value) {
      if (++next == arguments.size()) throw BadArguments(option + ": the value is missing");
      value = arguments[next];
    }
    if (option == "--cores")
      cores = value;
    else
      launch.ranks = parse_number(*value, option, 1, Segment::most_ranks);
  }
  if (launch.ranks == 0) throw BadArguments("-n: how many ranks?");
  launch.command.assign(arguments.begin() + static_cast<std::ptrdiff_t>(next), arguments.end());
  if (launch.command.empty()) throw BadArguments("PROGRAM is missing");
  if (!cores) {
    launch.processors = share_out(usable_cores(), launch.ranks);
  } else if (*cores != "all") {
    std::vector<std::vector<int>> one_by_one;
    for (const int each : parse_processors(*cores)) one_by_one.push_back({each});
    launch.processors = share_out(one_by_one, launch.ranks);
  }
  return launch;
}

int run(const std::vector<std::string>& arguments) {
  try {
    const std::optional<Launch> what = parse(arguments);
    if (what) return launch(*what);
    std::cout << help;
    return 0;
  } catch (const BadArguments& error) {
    std::cerr << "taskgrain-run: " << error.what() << "\n(taskgrain-run --help says more)\n";
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "taskgrain-run: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace

}  // namespace taskgrain::rt::detail

int main(int argc, char** argv) { return taskgrain::rt::detail::run({argv + 1, argv + argc}); }
