/// How much memory a process can have, read from folders that look like those of machines and containers.

#include "comm/memory_file.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

namespace taskgrain::rt::detail {
namespace {

namespace fs = std::filesystem;

struct AvailableMemory : testing::Test {
  AvailableMemory() { fs::remove_all(root_); }
  ~AvailableMemory() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  void host(const std::string& swap) const {
    write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:   3000 kB\nSwapFree: " + swap + " kB\n");
  }

  const fs::path root_ = fs::temp_directory_path() / ("taskgrain_memory_" + std::to_string(getpid()));
};

TEST_F(AvailableMemory, IsThatOfTheHost) {
  EXPECT_EQ(available_memory(root_), std::numeric_limits<std::size_t>::max()) << "an empty machine";
  host("0");
  EXPECT_EQ(available_memory(root_), 3000u * 1024);
  host("10");
  EXPECT_EQ(available_memory(root_), 3010u * 1024);
  EXPECT_LT(available_memory(), std::numeric_limits<std::size_t>::max());
}

TEST_F(AvailableMemory, IsLimitedByCgroupsOfVersion2) {
  host("0");
  write("proc/self/cgroup", "0::/box\n");
  write("proc/self/mountinfo", "31 22 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  const std::string box = "sys/fs/cgroup/box/";
  write(box + "memory.max", "max\n");
  write(box + "memory.current", "500\n");
  EXPECT_EQ(available_memory(root_), 3000u * 1024);
  write(box + "memory.max", "2000\n");
  EXPECT_EQ(available_memory(root_), 1500u);
  write(box + "memory.stat", "anon 300\nfile 200\ninactive_file 70\nactive_file 30\n");
  EXPECT_EQ(available_memory(root_), 1600u);
  host("100");
  EXPECT_EQ(available_memory(root_), 1600u + 100 * 1024);
  write(box + "memory.swap.max", "40\n");
  write(box + "memory.swap.current", "10\n");
  EXPECT_EQ(available_memory(root_), 1630u);
  write(box + "memory.current", "5000\n");  // the limit has been lowered
  EXPECT_EQ(available_memory(root_), 30u);
  write("sys/fs/cgroup/memory.max", "10\n");
  write("sys/fs/cgroup/memory.current", "10\n");
  write("sys/fs/cgroup/memory.swap.max", "0\n");
  EXPECT_EQ(available_memory(root_), 0u);
}

TEST_F(AvailableMemory, IsLimitedByCgroupsOfVersion1) {
  host("0");
  write("proc/self/cgroup", "4:memory:/box\n2:cpu,cpuacct:/elsewhere\n");
  write("proc/self/mountinfo", "30 22 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  const std::string box = "sys/fs/cgroup/memory/box/";
  write(box + "memory.limit_in_bytes", "9223372036854771712\n");
  write(box + "memory.usage_in_bytes", "500\n");
  EXPECT_EQ(available_memory(root_), 3000u * 1024);
  write(box + "memory.limit_in_bytes", "2000\n");
  write(box + "memory.stat", "inactive_file 1\ntotal_inactive_file 70\ntotal_active_file 30\n");
  EXPECT_EQ(available_memory(root_), 1600u);
}

}  // namespace
}  // namespace taskgrain::rt::detail
