/// The CPU quota of cgroups, read from folders that look like those of machines and containers.

#include "engine/cgroups.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "taskgrain/rt.hpp"

namespace taskgrain::rt::detail {
namespace {

namespace fs = std::filesystem;

class Quota : public testing::Test {
 protected:
  Quota() { fs::remove_all(root_); }
  ~Quota() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  /// A machine with version 2 alone.
  void version_2(const std::string& group, const std::string& top = "/") const {
    write("proc/self/cgroup", "0::" + group + "\n");
    write("proc/self/mountinfo", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n31 22 0:28 " + top +
                                     " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void version_1(const std::string& group, const std::string& top = "/") const {
    write("proc/self/cgroup", "4:memory:/elsewhere\n2:cpu,cpuacct:" + group + "\n0::/elsewhere\n");
    write("proc/self/mountinfo",
          "30 22 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n31 22 0:28 " + top +
              " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n32 22 0:29 / /sys/fs/cgroup/unified rw - "
              "cgroup2 cgroup2 rw\n");
  }

  const fs::path root_ = fs::temp_directory_path() / ("taskgrain_quota_" + std::to_string(getpid()));
};

TEST_F(Quota, IsNoneWhereThereIsNone) {
  EXPECT_EQ(cpu_quota(root_), no_quota) << "an empty machine";
  version_2("/user.slice/session");
  EXPECT_EQ(cpu_quota(root_), no_quota) << "a cgroup without the controller";
  write("sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota(root_), no_quota);
  version_1("/");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cpu_quota(root_), no_quota);
}

TEST_F(Quota, OfVersion2IsTheLeastOfTheCgroupAndItsParents) {
  version_2("/system.slice/job");
  write("sys/fs/cgroup/system.slice/job/cpu.max", "250000 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(root_), 2.5);
  write("sys/fs/cgroup/system.slice/cpu.max", "75000 50000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(root_), 1.5);
  write("sys/fs/cgroup/system.slice/other/cpu.max", "1000 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(root_), 1.5) << "that of another cgroup";
}

TEST_F(Quota, OfVersion1IsTheLeastOfTheCgroupAndItsParents) {
  version_1("/batch/job");
  const std::string tree = "sys/fs/cgroup/cpu,cpuacct/";
  for (const char* group : {"", "batch/", "batch/job/"}) {
    write(tree + group + "cpu.cfs_period_us", "100000\n");
    write(tree + group + "cpu.cfs_quota_us", "-1\n");
  }
  EXPECT_EQ(cpu_quota(root_), no_quota);
  write(tree + "batch/job/cpu.cfs_quota_us", "400000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(root_), 4);
  write(tree + "batch/cpu.cfs_quota_us", "50000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(root_), 0.5);
}

TEST_F(Quota, OfAContainerIsThatOfTheTopOfWhatItSees) {
  version_2("/docker/abc", "/docker/abc");  // without a name space: the path is the machine's
  write("sys/fs/cgroup/cpu.max", "300000 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(root_), 3);
  version_2("/");  // with one
  EXPECT_DOUBLE_EQ(cpu_quota(root_), 3);
  version_2("/../../outside");
  EXPECT_DOUBLE_EQ(cpu_quota(root_), 3);
  version_1("/docker/abc", "/docker/abc");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(root_), 2);
}

TEST_F(Quota, OfWhatCannotBeReadIsNone) {
  for (const char* text : {"", "\n", "max", "nonsense", "100000", "0 0", "-5 100000", "100000 0", "1e999 1"}) {
    version_2("/");
    write("sys/fs/cgroup/cpu.max", text);
    EXPECT_EQ(cpu_quota(root_), no_quota) << text;
  }
  write("proc/self/cgroup", "0:\n\n:::\nnonsense");
  write("proc/self/mountinfo", " - \n1 2 3\n1 2 3 / /sys/fs/cgroup - cgroup2\n");
  EXPECT_EQ(cpu_quota(root_), no_quota);
}

TEST(Workers, AreAsManyAsTheQuotaKeepsBusy) {
  EXPECT_EQ(workers_for(8, no_quota), 8);
  EXPECT_EQ(workers_for(8, 100), 8);
  EXPECT_EQ(workers_for(8, 8), 8);
  EXPECT_EQ(workers_for(8, 2), 2);
  EXPECT_EQ(workers_for(8, 2.5), 3);
  EXPECT_EQ(workers_for(8, 0.01), 1);
  const Runtime runtime;
  EXPECT_EQ(runtime.workers(), workers_for(usable_cores().size(), cpu_quota()));
}

}  // namespace
}  // namespace taskgrain::rt::detail
