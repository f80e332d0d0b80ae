#include "commit.hpp"

namespace taskgrain {
namespace {

constexpr std::string_view mark = "@(#)taskgrain commit ";

}  // namespace

// A driver that differs in nothing but the commit is the same build: the mark tells python/taskgrain/drive/builds.py
// what to leave out. Therefore it always has the same size, and it is no constant, on whose content code could depend.
extern char marked_commit[80];
char marked_commit[80] = "@(#)taskgrain commit " TASKGRAIN_COMMIT;

std::string_view commit() { return marked_commit + mark.size(); }

}  // namespace taskgrain
