#include "apiserver/handlers/indentation.h"

#include <algorithm>

namespace porthole::apiserver {
namespace {

constexpr std::string_view True[] = {"1", "t", "T", "TRUE", "true", "True"};
constexpr std::string_view ReadByPeople[] = {"curl", "Wget", "Mozilla/5.0"};

}  // namespace

bool wants_indentation(const RequestContext& context) {
    const std::string_view given = context.info.parameter("pretty"), agent = context.request.headers.get("user-agent");
    if (!given.empty()) return std::ranges::find(True, given) != std::end(True);
    return std::ranges::any_of(ReadByPeople, [&](std::string_view program) { return agent.starts_with(program); });
}

}  // namespace porthole::apiserver
