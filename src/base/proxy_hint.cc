#include "base/proxy_hint.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "base/strings.h"

namespace porthole {
namespace {

/// What runtimes and systems say when a host cannot be found or does not answer.
constexpr std::string_view NoConnection[] = {
    "i/o timeout",         "no such host",   "connection refused",   "no route to host",      "connectex",         "network is unreachable",
    "network unreachable", "host not found", "connection timed out", "tls handshake timeout", "deadline exceeded", "timed out"};

const char* of_environment(const char* name) { return std::getenv(name); }

}  // namespace

std::string with_proxy_hint(std::string why, const char* (*variable)(const char* name)) {
    if (!variable) variable = of_environment;
    const std::string lower = to_lower(why);
    if (std::ranges::none_of(NoConnection, [&](std::string_view words) { return lower.contains(words); })) return why;
    for (const char* name : {"HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"})
        if (const char* value = variable(name); value && *value) return why;
    return why +
           " (HTTP_PROXY and HTTPS_PROXY are not set: where hosts are reached through a proxy, set them for the machine and for the "
           "container runtime)";
}

}  // namespace porthole
