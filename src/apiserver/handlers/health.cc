#include "apiserver/handlers/health.h"

#include <algorithm>
#include <set>

#include "apiserver/handlers/reply.h"

namespace porthole::apiserver {
namespace {

/// "/readyz/ping" → "readyz", "ping".
std::pair<std::string_view, std::string_view> split(std::string_view path) {
    path.remove_prefix(1);
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) return {path, {}};
    return {path.substr(0, slash), path.substr(slash + 1)};
}

}  // namespace

bool Health::owns(std::string_view path) {
    if (!path.starts_with('/')) return false;
    const auto root = split(path).first;
    return root == "livez" || root == "readyz" || root == "healthz";
}

bool Health::ready() const {
    return std::ranges::all_of(checks_, [](const Check& check) { return check.by_name_only || check.passes(); });
}

Task<> Health::handle(RequestContext& context) const {
    const auto [root, one] = split(context.info.path);
    std::set<std::string> excluded;
    for (const auto& [key, value] : context.info.query)
        if (key == "exclude") excluded.insert(value);

    std::string text;
    bool passed = true, found = one.empty();
    for (const Check& check : checks_) {
        if (check.readiness_only && root != "readyz") continue;
        if (one.empty() ? check.by_name_only : check.name != one) continue;
        found = true;
        if (excluded.contains(check.name)) {
            text += "[+]" + check.name + " excluded: ok\n";
            continue;
        }
        const bool ok = check.passes();
        passed = passed && ok;
        text += ok ? "[+]" + check.name + " ok\n" : "[-]" + check.name + " failed: reason withheld\n";
    }
    if (!found) co_return co_await reply_text(context, 404, "404 page not found\n");
    const std::string what(root);
    if (!passed) co_return co_await reply_text(context, 500, text + what + " check failed\n");
    if (!one.empty() || !context.info.has_parameter("verbose")) co_return co_await reply_text(context, 200, "ok");
    co_return co_await reply_text(context, 200, text + what + " check passed\n");
}

}  // namespace porthole::apiserver
