#include "cmd/windows/roles.h"

namespace porthole::cmd {
namespace {

constexpr SubCommand Roles[] = {
#define COMMAND(name, function, summary) {name, function, summary},
#include "cmd/windows/roles.def"
#undef COMMAND
};
static_assert(are_distinct(Roles), "a role is listed twice");

}  // namespace

std::span<const SubCommand> windows_roles() { return Roles; }

}  // namespace porthole::cmd
