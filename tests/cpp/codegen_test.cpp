/// What the compiler makes of the compute kernel under -O3 -flto: one loop of exactly as many FMAs as the kernel has,
/// so that nothing was folded, shared or dropped. The test disassembles itself.

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "taskgrain/error.hpp"
#include "taskgrain/kernel.hpp"

namespace taskgrain {
namespace {

struct Instruction {
  std::uint64_t address;
  std::string mnemonic, operands;
};

using Code = std::vector<Instruction>;

/// All functions of this program by name, or nothing if no objdump can say.
std::optional<std::map<std::string, Code>> disassembled() {
  const std::string objdump = TASKGRAIN_OBJDUMP;
  if (std::system((objdump + " --version > /dev/null 2>&1").c_str()) != 0) return std::nullopt;
  // The path, because the link leads other processes to the emulator, if there is one.
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = objdump + " -d -C --no-show-raw-insn '" + program + "'";
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::map<std::string, Code> functions;
  Code* code = nullptr;
  const std::regex instruction(R"(^\s*([0-9a-f]+):\s+(\S+)\s*(.*?)\s*$)");
  for (char line[4096]; std::fgets(line, sizeof line, pipe.get()) != nullptr;) {
    const std::string text(line);
    if (const auto end = text.find(">:\n"); end != std::string::npos) {
      const std::string name = text.substr(text.find('<') + 1, end - text.find('<') - 1);
      code = name.starts_with("taskgrain::compute_bound") || name.starts_with("void taskgrain::compute_bound")
                 ? &functions[name]
                 : nullptr;
    }
    std::smatch parts;
    if (code != nullptr && std::regex_search(text, parts, instruction))
      code->push_back({std::stoull(parts[1], nullptr, 16), parts[2], parts[3]});
  }
  return functions;
}

/// The code of a kernel: its own, or that of the function it jumps to at once.
Code code_of(const std::map<std::string, Code>& functions, const std::string& kernel) {
  const Code& own = functions.at("taskgrain::" + kernel + "(long)");
  if (own.empty() || (own.front().mnemonic != "jmp" && own.front().mnemonic != "b")) return own;
  const std::uint64_t target = std::stoull(own.front().operands, nullptr, 16);
  for (const auto& [name, code] : functions)
    if (!code.empty() && code.front().address == target) return code;
  throw std::runtime_error(kernel + " jumps to an unknown place");
}

/// The bodies of the innermost loops: from the target of a backward jump to the jump, with no such jump in between.
std::vector<Code> loops(const Code& code) {
  std::vector<Code> bodies;
  std::uint64_t last_end = 0;
  for (std::size_t end = 0; end < code.size(); ++end) {
    const auto& [address, mnemonic, operands] = code[end];
    if (!(mnemonic.starts_with('j') || mnemonic.starts_with("b.")) || mnemonic == "jmp") continue;
    std::size_t used = 0;
    std::uint64_t target = 0;
    try {
      target = std::stoull(operands, &used, 16);
    } catch (const std::exception&) {
      continue;
    }
    if (target >= address || target < code.front().address) continue;
    if (target <= std::exchange(last_end, address)) continue;
    auto& body = bodies.emplace_back();
    for (std::size_t at = 0; at <= end; ++at)
      if (code[at].address >= target) body.push_back(code[at]);
  }
  return bodies;
}

std::size_t count(const Code& body, const std::string& mnemonic, const std::string& operand) {
  return static_cast<std::size_t>(std::ranges::count_if(body, [&](const Instruction& each) {
    return std::regex_match(each.mnemonic, std::regex(mnemonic)) && each.operands.find(operand) != std::string::npos;
  }));
}

struct Expected {
  const char* function;
  std::size_t blocks;
  const char* mnemonic;
  const char* operand;
  std::size_t per_loop;
  std::size_t most_other;  ///< counter and jump, and for `portable` what two-operand code must copy
};
void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.function; }

class Codegen : public testing::TestWithParam<Expected> {};

TEST_P(Codegen, InnerLoopHoldsTheArithmeticAndNothingElse) {
  const auto& expected = GetParam();
  const auto functions = disassembled();
  if (!functions) GTEST_SKIP() << "no objdump";
  const auto bodies = loops(code_of(*functions, expected.function));
  // The compiler may unroll the loop over the kernel's blocks.
  ASSERT_TRUE(bodies.size() == 1 || bodies.size() == expected.blocks) << bodies.size();
  for (const auto& body : bodies) {
    EXPECT_EQ(count(body, expected.mnemonic, expected.operand), expected.per_loop);
    EXPECT_LE(body.size(), expected.per_loop + expected.most_other);
    EXPECT_EQ(count(body, ".*", "(%rsp"), 0U) << "an accumulator lies in memory";
  }
}

#if defined(__x86_64__)
INSTANTIATE_TEST_SUITE_P(X86, Codegen,
                         testing::Values(Expected{"compute_bound_avx2", 1, "vfmadd[0-9]+pd", "%ymm", 16, 3},
                                         Expected{"compute_bound_avx512", 1, "vfmadd[0-9]+pd", "%zmm", 8, 3},
                                         Expected{"compute_bound_portable", 4, "v?(mul|add)pd", "%xmm", 16, 8 + 3}),
                         [](const auto& test) { return std::string(test.param.function); });
#elif defined(__aarch64__)
INSTANTIATE_TEST_SUITE_P(Arm, Codegen, testing::Values(Expected{"compute_bound_neon", 2, "fmla", ".2d", 16, 16 + 3}),
                         [](const auto& test) { return std::string(test.param.function); });
#endif

TEST(Codegen, KernelsRunAsCompiledHere) {
  compute_bound(Isa::automatic)(1000);  // and so the linker must keep them
  compute_bound(Isa::portable)(1000);
}

}  // namespace
}  // namespace taskgrain
