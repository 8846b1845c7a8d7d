#include "controllers/node_lifecycle/version_skew.h"

#include <charconv>
#include <compare>
#include <optional>
#include <string_view>

namespace porthole::controllers {
namespace {

constexpr int MinorsBehind = 3;  ///< as many as Kubernetes lets a kubelet lag

struct Release {
    int major = 0, minor = 0;
    auto operator<=>(const Release&) const = default;
};

std::optional<Release> release_of(std::string_view version) {
    if (!version.starts_with('v')) return std::nullopt;
    Release release;
    const char *end = version.data() + version.size(), *at = version.data() + 1;
    for (int* part : {&release.major, &release.minor}) {
        const auto [next, error] = std::from_chars(at, end, *part);
        if (error != std::errc() || next == end || *next != '.') return std::nullopt;
        at = next + 1;
    }
    return release;
}

}  // namespace

std::string version_skew(const std::string& version, const std::string& own) {
    const auto node = release_of(version), server = release_of(own);
    if (!node || !server) return "";
    const std::string both = "kubelet " + version + " is ", server_text = "the API server, " + own;
    if (*node > *server) return both + "newer than " + server_text + ", which is not supported: upgrade the control plane first";
    if (node->major == server->major && server->minor - node->minor > MinorsBehind)
        return both + "more than " + std::to_string(MinorsBehind) + " minor versions older than " + server_text +
               ", which is not supported: upgrade the node";
    return "";
}

}  // namespace porthole::controllers
